// The types that are checked in are those of today's protocol, and tomorrow's can be read.

package main

import (
	"os"
	"strings"
	"testing"
)

func TestTypesAreFresh(t *testing.T) {
	text, err := os.ReadFile("../../../../protocol/openrpc.json")
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := generate(text)
	if err != nil {
		t.Fatal(err)
	}
	checkedIn, err := os.ReadFile("../../types_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(fresh) != string(checkedIn) {
		t.Error("types_gen.go is not what openrpc.json says: run go generate in clients/go")
	}
}

func TestShapes(t *testing.T) {
	const document = `{
		"info": {"version": "1.7"},
		"methods": [
			{"name": "a/do", "summary": "Does.", "x-direction": "sidecar", "x-params": {"$ref": "#/components/schemas/Params"},
				"result": {"schema": {"type": "null"}}},
			{"name": "$/tell", "summary": "Tells.", "x-direction": "host", "x-notification": true}
		],
		"components": {
			"errors": {"Odd": {"code": -1, "message": "It is odd."}},
			"schemas": {
				"Params": {"description": "All kinds.", "required": ["must", "gate", "kind"], "properties": {
					"must": {"type": "string", "description": "Has\ntwo lines."},
					"text": {"type": ["string", "null"]},
					"flag": {"type": "boolean", "default": false},
					"count": {"type": ["integer", "null"], "format": "uint32"},
					"gate": {"type": ["string", "null"]},
					"callId": {"type": "string"},
					"list": {"type": ["array", "null"], "items": {"type": "string"}},
					"found": {"type": "array", "items": true},
					"open": {"type": "object", "additionalProperties": true},
					"map": {"type": "object", "additionalProperties": {"type": "integer", "format": "uint64"}},
					"other": {"anyOf": [{"$ref": "#/components/schemas/Other"}, {"type": "null"}]},
					"either": {"type": ["string", "number"]},
					"kind": {"type": "string", "enum": ["begin", "end"]},
					"later": {"not": {"type": "string"}, "unheardOf": [1]}
				}},
				"Other": {"anyOf": [
					{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]},
					{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}]},
				"Token": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
				"Word": {"oneOf": [{"type": "string", "const": "as-is", "description": "As it is."}]},
				"New": {"prefixItems": [{"type": "string"}]}
			}
		}
	}`
	source, err := generate([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Join(strings.Fields(string(source)), " ")
	for _, expected := range []string{
		`const ProtocolVersion = "1.7"`,
		`// a/do: Does. MethodADo Method[Params, None] = "a/do"`,
		`// $/tell: Tells. NotifyTell Notification[None] = "$/tell"`,
		`// CodeOdd: It is odd. CodeOdd = -1`,
		`// Params: All kinds. type Params struct {`,
		"// Has // two lines. Must string `json:\"must\"`",
		"Text string `json:\"text,omitempty\"`",
		"Flag bool `json:\"flag,omitempty\"`",
		"Count *uint32 `json:\"count,omitempty\"`",
		"Gate *string `json:\"gate\"`",
		"CallID string `json:\"callId,omitempty\"`",
		"List []string `json:\"list\"`",
		"Found []json.RawMessage `json:\"found,omitempty\"`",
		"Open json.RawMessage `json:\"open,omitempty\"`",
		"Map map[string]uint64 `json:\"map,omitempty\"`",
		"Other *Other `json:\"other,omitempty\"`",
		"Either json.RawMessage `json:\"either,omitempty\"`",
		"Kind ParamsKind `json:\"kind\"`",
		`ParamsKindBegin ParamsKind = "begin"`,
		"Later json.RawMessage `json:\"later,omitempty\"`",
		"type Other struct { A string `json:\"a,omitempty\"` B string `json:\"b\"` }",
		"type Token = json.RawMessage",
		`// As it is. WordAsIs Word = "as-is"`,
		"type New = json.RawMessage",
	} {
		if !strings.Contains(plain, expected) {
			t.Errorf("%s is not in\n%s", expected, source)
		}
	}
}
