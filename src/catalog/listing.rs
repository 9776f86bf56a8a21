//! (listing)
