//! Requests of a connection, counted and timed by method.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::protocol::work::Latency;

/// Counts a method; bucket `n` holds times below `2^n` microseconds that no lower one holds.
#[derive(Clone, Copy)]
struct Method {
    count: u64,
    buckets: [u64; 40],
}

/// See the module.
#[derive(Default)]
pub struct Metrics(Mutex<BTreeMap<&'static str, Method>>);

/// Times one request until it is dropped.
pub struct Timer<'a> {
    metrics: &'a Metrics,
    method: &'static str,
    arrived: Instant,
}

impl Metrics {
    /// Starts with the moment at which the request was read.
    pub fn time(&self, method: &'static str, arrived: Instant) -> Timer<'_> {
        Timer { metrics: self, method, arrived }
    }

    /// Requests by method.
    pub fn counters(&self) -> BTreeMap<&'static str, u64> {
        let methods = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        methods.iter().map(|(name, method)| (*name, method.count)).collect()
    }

    /// Times by method.
    pub fn latencies(&self) -> BTreeMap<&'static str, Latency> {
        let methods = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let latency = |method: &Method| Latency { p50: method.percentile(50), p99: method.percentile(99) };
        methods.iter().map(|(name, method)| (*name, latency(method))).collect()
    }
}

impl Method {
    /// Upper bound of the bucket that holds this share of the requests, in microseconds.
    fn percentile(&self, percent: u64) -> u64 {
        let wanted = (self.count * percent).div_ceil(100);
        let mut seen = 0;
        let at = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        1 << at.unwrap_or(0)
    }
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        let micros = self.arrived.elapsed().as_micros() as u64;
        let bucket = (u64::BITS - micros.leading_zeros()).min(39) as usize;
        let mut methods = self.metrics.0.lock().unwrap_or_else(PoisonError::into_inner);
        let method = methods.entry(self.method).or_insert(Method { count: 0, buckets: [0; 40] });
        method.count += 1;
        method.buckets[bucket] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_bounds_of_buckets() {
        let mut method = Method { count: 100, buckets: [0; 40] };
        (method.buckets[3], method.buckets[10]) = (98, 2);
        assert_eq!((method.percentile(50), method.percentile(99)), (8, 1024));
    }
}
