// The parts of an OpenRPC document and of JSON Schema that the protocol uses.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

type document struct {
	Info struct {
		Version string
	}
	Methods    []method
	Components struct {
		Schemas ordered[schema]
		Errors  ordered[errorCode]
	}
}

// schema is the one that a reference names; the zero value, which is any JSON, if there is none.
func (d *document) schema(ref string) schema {
	name := ref[strings.LastIndex(ref, "/")+1:]
	for _, entry := range d.Components.Schemas {
		if entry.name == name {
			return entry.value
		}
	}
	return schema{}
}

type method struct {
	Name         string
	Summary      string
	Direction    string  `json:"x-direction"`
	Notification bool    `json:"x-notification"`
	Params       *schema `json:"x-params"`
	Result       *struct{ Schema schema }
}

type errorCode struct {
	Code    int
	Message string
}

// schema is a JSON Schema; `true` and `{}` are its zero value, which takes any JSON.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 types
	Format               string
	Description          string
	Properties           ordered[schema]
	Required             []string
	Items                *schema
	AdditionalProperties *schema
	AllOf, AnyOf, OneOf  []schema
	Enum                 []string
	Const                string
}

func (s *schema) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return nil
	}
	type plain schema
	return json.Unmarshal(text, (*plain)(s))
}

// types are the JSON types that a schema allows; one may stand alone.
type types []string

func (t *types) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(t))
	}
	*t = types{""}
	return json.Unmarshal(text, &(*t)[0])
}

// ordered is a JSON object whose members keep their order.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		entry := member[T]{name: name.(string)}
		if err := decoder.Decode(&entry.value); err != nil {
			return fmt.Errorf("%s: %w", entry.name, err)
		}
		*o = append(*o, entry)
	}
	return nil
}
