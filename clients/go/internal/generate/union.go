// Objects that have one of several shapes: one struct with the members of all.

package main

import "slices"

// resolve finds a named schema.
type resolve func(ref string) schema

// members of an object, and which of them are always there. Of a union of objects those are what all shapes require.
func (r resolve) members(s schema) (properties ordered[schema], required []string) {
	if s.Ref != "" {
		return r.members(r(s.Ref))
	}
	if len(s.AllOf) == 1 {
		return r.members(s.AllOf[0])
	}
	if len(s.Properties) > 0 {
		return s.Properties, s.Required
	}
	for i, shape := range s.AnyOf {
		more, needed := r.members(shape)
		if len(more) == 0 {
			return nil, nil
		}
		for _, property := range more {
			if !slices.ContainsFunc(properties, func(m member[schema]) bool { return m.name == property.name }) {
				properties = append(properties, property)
			}
		}
		if i == 0 {
			required = needed
		}
		required = without(required, func(name string) bool { return !slices.Contains(needed, name) })
	}
	return properties, required
}
