// From the document to the source of one Go file.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"slices"
	"strings"
)

type generator struct {
	out bytes.Buffer
	// isText names the types that are a string or raw JSON beneath, which are left out by omitempty alone.
	isText map[string]bool
	// named has the schemas of the document.
	named resolve
}

// generate gives the source, formatted as gofmt does.
func generate(text []byte) ([]byte, error) {
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	g := &generator{isText: map[string]bool{}, named: doc.schema}
	for _, entry := range doc.Components.Schemas {
		g.isText[exported(entry.name)] = !g.isStruct(entry.value)
	}
	g.line("// Code generated from protocol/openrpc.json by internal/generate; DO NOT EDIT.")
	g.line("\npackage toolscout\n\nimport \"encoding/json\"")
	g.doc("ProtocolVersion is the version of the protocol that these types describe.")
	g.line("const ProtocolVersion = %q", doc.Info.Version)
	g.methods("Requests to the sidecar.", doc.Methods, "sidecar")
	g.methods("Requests to the host.", doc.Methods, "host")
	g.errors(doc.Components.Errors)
	for _, entry := range doc.Components.Schemas {
		g.schema(exported(entry.name), entry.value)
	}
	source, err := format.Source(g.out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("what came out is no Go: %w", err)
	}
	return source, nil
}

func (g *generator) line(pattern string, values ...any) {
	fmt.Fprintf(&g.out, pattern+"\n", values...)
}

// doc writes a comment, with a blank line before it.
func (g *generator) doc(text string) {
	g.line("\n%s", comment(text))
}

func comment(text string) string {
	return "// " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n// ")
}

func (g *generator) methods(title string, methods []method, direction string) {
	g.doc(title)
	g.line("const (")
	for _, m := range methods {
		if m.Direction != direction {
			continue
		}
		params := "None"
		if m.Params != nil {
			params = g.goType(*m.Params)
		}
		g.line("%s", comment(fmt.Sprintf("%s: %s", m.Name, m.Summary)))
		if m.Notification || m.Result == nil {
			g.line("Notify%s Notification[%s] = %q", exported(m.Name), params, m.Name)
		} else {
			g.line("Method%s Method[%s, %s] = %q", exported(m.Name), params, g.goType(m.Result.Schema), m.Name)
		}
	}
	g.line(")")
}

func (g *generator) errors(codes ordered[errorCode]) {
	g.doc("Codes of errors.")
	g.line("const (")
	for _, entry := range codes {
		g.line("%s", comment(fmt.Sprintf("Code%s: %s", entry.name, entry.value.Message)))
		g.line("Code%s = %d", entry.name, entry.value.Code)
	}
	g.line(")")
}

func (g *generator) schema(name string, s schema) {
	description := strings.TrimSpace(s.Description)
	if description == "" {
		description = "see the protocol."
	}
	g.doc(name + ": " + description)
	switch {
	case g.isStruct(s):
		properties, required := g.named.members(s)
		g.object(name, properties, required)
	case len(s.Enum) > 0:
		var values []schema
		for _, value := range s.Enum {
			values = append(values, schema{Const: value})
		}
		g.texts(name, values)
	case isTexts(s):
		g.texts(name, s.OneOf)
	default:
		// An alias, so that it keeps the methods of what it stands for.
		g.line("type %s = %s", name, g.goType(s))
	}
}

func (g *generator) object(name string, properties ordered[schema], required []string) {
	var texts []func()
	g.line("type %s struct {", name)
	for _, property := range properties {
		goType, options := g.field(property.value, slices.Contains(required, property.name))
		if values := property.value.Enum; len(values) > 0 && goType == "string" {
			goType = name + exported(property.name)
			description := fmt.Sprintf("Values of %s.%s.", name, exported(property.name))
			texts = append(texts, func() { g.schema(goType, schema{Enum: values, Description: description}) })
		}
		if property.value.Description != "" {
			g.line("%s", comment(property.value.Description))
		}
		g.line("%s %s `json:\"%s%s\"`", exported(property.name), goType, property.name, options)
	}
	g.line("}")
	for _, write := range texts {
		write()
	}
}

func (g *generator) texts(name string, values []schema) {
	g.line("type %s string", name)
	g.doc("Values of " + name + ".")
	g.line("const (")
	for _, value := range values {
		if value.Description != "" {
			g.line("%s", comment(value.Description))
		}
		g.line("%s%s %s = %q", name, exported(value.Const), name, value.Const)
	}
	g.line(")")
}

func isTexts(s schema) bool {
	return len(s.OneOf) > 0 && !slices.ContainsFunc(s.OneOf, func(one schema) bool { return one.Const == "" })
}

func (g *generator) isStruct(s schema) bool {
	properties, _ := g.named.members(s)
	return len(properties) > 0
}
