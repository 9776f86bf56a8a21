// Go names for the names of the protocol.

package main

import (
	"strings"
	"unicode"
)

// initialisms are the words that Go writes otherwise than with one capital letter.
var initialisms = map[string]string{
	"id": "ID", "url": "URL", "pid": "PID", "mcp": "MCP", "openai": "OpenAI",
	"tf": "TF", "df": "DF", "idf": "IDF", "ms": "MS",
}

// exported makes `registry/didChange` RegistryDidChange and `callId` CallID.
func exported(name string) string {
	var out strings.Builder
	for _, word := range words(name) {
		if known, ok := initialisms[strings.ToLower(word)]; ok {
			out.WriteString(known)
		} else {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}

// words splits where something else than a letter or digit stands, and before a capital letter.
func words(name string) []string {
	var words []string
	start := true
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			start = true
			continue
		case start || unicode.IsUpper(r):
			words = append(words, string(r))
		default:
			words[len(words)-1] += string(r)
		}
		start = false
	}
	return words
}
