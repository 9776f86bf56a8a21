// What Go type a schema becomes, and how a field is left out.

package main

import "strings"

const anyJSON = "json.RawMessage"

var integers = map[string]string{
	"int32": "int32", "int64": "int64", "uint": "uint64",
	"uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
}

// goType is the type of a value. Unions, and objects whose members nobody knows, stay the JSON that they are.
func (g *generator) goType(s schema) string {
	s, _ = unwrap(s)
	switch {
	case s.Ref != "":
		return exported(s.Ref[strings.LastIndex(s.Ref, "/")+1:])
	case len(s.Type) != 1:
		return anyJSON
	}
	switch s.Type[0] {
	case "string":
		return "string"
	case "boolean":
		return "bool"
	case "number":
		return "float64"
	case "integer":
		if known, ok := integers[s.Format]; ok {
			return known
		}
		return "int64"
	case "array":
		if s.Items == nil {
			return "[]" + anyJSON
		}
		return "[]" + g.goType(*s.Items)
	case "object":
		if s.AdditionalProperties != nil && g.goType(*s.AdditionalProperties) != anyJSON {
			return "map[string]" + g.goType(*s.AdditionalProperties)
		}
	case "null":
		return "None"
	}
	return anyJSON
}

// unwrap looks through what only adds a description, or null; the second value says whether null is allowed.
func unwrap(s schema) (schema, bool) {
	if len(s.AllOf) == 1 {
		return unwrap(s.AllOf[0])
	}
	nullable := false
	if rest := without(s.AnyOf, isNull); len(rest) == 1 {
		inner, _ := unwrap(rest[0])
		return inner, len(s.AnyOf) > 1
	}
	if rest := without(s.Type, func(t string) bool { return t == "null" }); len(rest) == 1 {
		nullable = len(s.Type) > 1
		s.Type = rest
	}
	return s, nullable
}

func isNull(s schema) bool { return len(s.Type) == 1 && s.Type[0] == "null" }

func without[T any](all []T, unwanted func(T) bool) []T {
	var rest []T
	for _, item := range all {
		if !unwanted(item) {
			rest = append(rest, item)
		}
	}
	return rest
}

// field gives type and tag options of a member.
//
// An optional text or flag is left out when it is empty or false, which means the same. A number is a pointer, since 0 is
// a number. A list that may be null goes as null when it is nil, and as [] when it is empty: in a scope they are not
// the same.
func (g *generator) field(s schema, required bool) (goType, options string) {
	goType = g.goType(s)
	_, nullable := unwrap(s)
	isList := strings.HasPrefix(goType, "[]")
	switch {
	case nullable && isList:
		return goType, ""
	case required && nullable && goType != anyJSON:
		return "*" + goType, ""
	case required:
		return goType, ""
	case goType == anyJSON || goType == "string" || goType == "bool" || isList || strings.HasPrefix(goType, "map[") || g.isText[goType]:
		return goType, ",omitempty"
	default:
		return "*" + goType, ",omitempty"
	}
}
