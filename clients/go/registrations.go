// What was registered through a client, for the next sidecar.

package toolscout

import "slices"

// registrations are the sources a sidecar is to have, in the order in which they first came.
type registrations []RegisterParams

func (r registrations) index(source string) int {
	return slices.IndexFunc(r, func(p RegisterParams) bool { return p.Source.Name == source })
}

// with has the source in place of one of its name.
func (r registrations) with(params RegisterParams) registrations {
	r = slices.Clone(r)
	if at := r.index(params.Source.Name); at >= 0 {
		r[at] = params
		return r
	}
	return append(r, params)
}

func (r registrations) without(source string) registrations {
	r = slices.Clone(r)
	if at := r.index(source); at >= 0 {
		return slices.Delete(r, at, at+1)
	}
	return r
}
