"""Programs in Python that benches/side-by-side measures, in process: `python.py NAME FOLDER`.

A request a line on standard input (`{"op", "milliseconds", "most"}`), an answer a line on standard output, as
src/measure.rs has it for those in Rust.
"""

import json
import os
import sqlite3
import sys
from pathlib import Path
from time import perf_counter_ns

LIMIT = 5


class Cannot(Exception):
    """Why a program has no such operation."""


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def visible(source, tool):
    return f"mcp__{source['name']}__{tool['name']}"


def document(source, tool):
    """The words that the seed's system and Toolscout search as well."""
    words = [tool["name"].replace("_", " "), source["name"], tool["description"]]
    words += [name.replace("_", " ") for name in tool["inputSchema"]["properties"]]
    return " ".join(words)


def rows(registry):
    return [
        (tool["name"], tool["description"], document(source, tool))
        for source in registry["sources"]
        for tool in source["tools"]
    ]


def answer(found):
    return json.dumps([{"name": name, "description": description} for name, description in found])


class Hermes:
    """The seed's system: the module tools.tool_search, as its agent calls it, with the tools in its registry."""

    def __init__(self):
        import logging

        from tools import tool_search
        from tools.registry import registry

        logging.disable(logging.CRITICAL)
        self.module, self.registry = tool_search, registry
        self.config = tool_search.ToolSearchConfig.from_raw(None)

    def load(self, text):
        self.definitions = []
        for source in json.loads(text)["sources"]:
            for tool in source["tools"]:
                schema = {
                    "name": visible(source, tool),
                    "description": tool["description"],
                    "parameters": tool["inputSchema"],
                }
                toolset = "mcp-" + source["name"]
                self.registry.register(schema["name"], toolset, schema, handler=lambda *_: "", override=True)
                self.definitions.append({"type": "function", "function": schema})

    def search(self, query):
        arguments = {"queries": [query]}
        return self.module.dispatch_tool_search(arguments, current_tool_defs=self.definitions, config=self.config)

    def assemble(self):
        made = self.module.assemble_tool_defs(self.definitions, context_length=200_000, config=self.config)
        return json.dumps(made.tool_defs)

    def change(self, position, row):
        _, description, _ = row
        old = self.definitions[position]["function"]
        self.definitions[position] = {"type": "function", "function": {**old, "description": description}}
        return self.assemble()

    def describe(self, names):
        return self.module.dispatch_tool_describe(
            {"names": names}, current_tool_defs=self.definitions, config=self.config
        )


class FastMcp:
    """FastMCP's server with its BM25 search transform; a change is a tool added again, and the search after it."""

    def __init__(self):
        import asyncio

        import fastmcp
        from fastmcp.server.transforms.search import BM25SearchTransform
        from fastmcp.tools.base import Tool

        self.run = asyncio.new_event_loop().run_until_complete
        self.server = lambda: fastmcp.FastMCP("measured", transforms=[BM25SearchTransform()])
        self.tool = Tool

    def load(self, text):
        self.server_now = self.server()
        self.tools = []
        for source in json.loads(text)["sources"]:
            for tool in source["tools"]:
                made = self.tool(
                    name=visible(source, tool), description=tool["description"], parameters=tool["inputSchema"]
                )
                self.tools.append(made)
                self.server_now.add_tool(made)

    def search(self, query):
        result = self.run(self.server_now.call_tool("search_tools", {"query": query}))
        return json.dumps(result.structured_content)

    def assemble(self):
        tools = self.run(self.server_now.list_tools())
        return json.dumps([tool.to_mcp_tool().model_dump(mode="json", exclude_none=True) for tool in tools])

    def change(self, position, row):
        _, description, _ = row
        tool = self.tools[position].model_copy(update={"description": description})
        self.server_now.local_provider.remove_tool(tool.name)
        self.server_now.add_tool(tool)
        return self.search(" ".join(description.split()[:3]))

    def describe(self, names):
        raise Cannot("no describe")


class SearchOnly:
    def assemble(self):
        raise Cannot("only searches")

    def describe(self, names):
        raise Cannot("only searches")


class Bm25s(SearchOnly):
    """The package bm25s with its numpy backend, without a stemmer, which is another package."""

    def __init__(self):
        import bm25s

        self.module = bm25s

    def load(self, text):
        self.rows = rows(json.loads(text))
        tokens = self.module.tokenize([row[2] for row in self.rows], stopwords="en", show_progress=False)
        self.index = self.module.BM25()
        self.index.index(tokens, show_progress=False)

    def search(self, query):
        tokens = self.module.tokenize([query], stopwords="en", show_progress=False, return_ids=False)
        found, scores = self.index.retrieve(tokens, k=LIMIT, show_progress=False)
        return answer(self.rows[n][:2] for n, score in zip(found[0], scores[0]) if score > 0)

    def change(self, position, row):
        raise Cannot("no update")


class Fts5(SearchOnly):
    """SQLite's FTS5 in memory, with its Porter stemmer; any word of the query matches."""

    def __init__(self):
        pass

    def load(self, text):
        self.base = sqlite3.connect(":memory:")
        self.base.execute(
            "CREATE VIRTUAL TABLE tools USING fts5(name UNINDEXED, description UNINDEXED, words, tokenize='porter')"
        )
        self.base.executemany("INSERT INTO tools VALUES (?, ?, ?)", rows(json.loads(text)))
        self.base.commit()

    def search(self, query):
        words = " OR ".join(f'"{word}"' for word in query.split())
        sql = f"SELECT name, description FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT {LIMIT}"
        return answer(self.base.execute(sql, (words,)))

    def change(self, position, row):
        sql = "UPDATE tools SET name = ?, description = ?, words = ? WHERE rowid = ?"
        self.base.execute(sql, (*row, position + 1))
        self.base.commit()


PROGRAMS = {"hermes": Hermes, "fastmcp": FastMcp, "bm25s": Bm25s, "fts5": Fts5}


def times(request, act):
    out, begin = [], perf_counter_ns()
    while not out or (len(out) < request["most"] and perf_counter_ns() - begin < request["milliseconds"] * 1e6):
        start = perf_counter_ns()
        made = act(len(out))
        out.append(perf_counter_ns() - start)
        del made
    return {"ns": out}


class Measured:
    def __init__(self, program, folder):
        self.program = program
        self.inputs = json.loads((Path(folder) / "inputs.json").read_text())
        self.base = resident()

    def text(self):
        """The catalog's text. It is not kept, so that it is not taken for memory that the program needs."""
        return Path(self.inputs["catalog"]).read_text()

    def load(self, text):
        self.program.load(text)
        found = self.program.search(self.inputs["queries"][0])
        if '"description"' not in found:
            raise ValueError("the first query has no answer")

    def run(self, request):
        queries = self.inputs["queries"]
        match request["op"]:
            case "first":
                self.load(self.text())
                return {"bytes": resident(), "base": self.base}
            case "load":
                text = self.text()
                return times(request, lambda n: self.load(text))
            case "search":
                return times(request, lambda n: self.program.search(queries[n % len(queries)]))
            case "unknown":
                return times(request, lambda n: self.program.search(self.inputs["unknown"]))
            case "assemble":
                return times(request, lambda n: self.program.assemble())
            case "change":
                at = self.inputs["changed_tool"]
                twins = [rows(json.loads(Path(self.inputs[twin]).read_text()))[at] for twin in ("changed", "catalog")]
                return times(request, lambda n: self.program.change(at, twins[n % 2]))
            case "describe":
                return times(request, lambda n: self.program.describe(self.inputs["names"]))
            case _:
                raise Cannot("Toolscout only")


def main():
    # What a library prints must not come between the answers.
    output, sys.stdout = sys.stdout, sys.stderr
    measured = Measured(PROGRAMS[sys.argv[1]](), sys.argv[2])
    for line in sys.stdin:
        try:
            reply = measured.run(json.loads(line))
        except Cannot as why:
            reply = {"cannot": str(why)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=output, flush=True)


main()
