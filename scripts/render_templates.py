#!/usr/bin/env python3
"""Fills in the expected outputs of template files with Python's Jinja2.

    python3 scripts/render_templates.py FILE [FILE...]

Needs Jinja2 3.1 (Debian: python3-jinja2). The environment is set up the way chat templates are
rendered by transformers, from its documentation: an immutable sandbox, trim_blocks and
lstrip_blocks, loop controls, a tojson without HTML escapes, raise_exception, strftime_now and a
transparent generation tag. The layout of the files: tests/golden/templates/README.md.
"""
import copy
import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """{% generation %}: its body, in a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_body", lineno=line)
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def environment(clock):
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
    )
    env.filters["tojson"] = to_json
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: clock.strftime(format)
    return env


def render(env, source, context):
    try:
        return env.from_string(source).render(**context)
    except Raised as problem:
        return {"raised": str(problem)}
    except Exception as problem:  # the kind is recorded, the wording is Python's own
        return {"error": type(problem).__name__}


def context_of(template, conversation):
    return {
        "messages": conversation["messages"],
        "tools": conversation.get("tools"),
        "documents": conversation.get("documents"),
        "add_generation_prompt": conversation.get("add_generation_prompt", False),
        **{f"{name}_token": text for name, text in template.get("tokens", {}).items()},
        **conversation.get("variables", {}),
    }


def fill_templates(env, data):
    for template in data["templates"]:
        template["expected"] = {
            conversation["name"]: render(
                env, template["template"], context_of(template, conversation)
            )
            for conversation in data["conversations"]
            if conversation["name"] in template.get("only", [conversation["name"]])
        }


def fill_expressions(env, data):
    context = {"messages": [], "tools": None, "documents": None, "add_generation_prompt": False}
    for pair in data["expressions"]:
        # A template may change what it is given (list += text), so each gets a copy.
        pair[1] = render(env, pair[0], context | copy.deepcopy(data["context"]))


def main(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        env = environment(datetime.datetime.fromisoformat(data["clock"]))
        if "templates" in data:
            fill_templates(env, data)
        else:
            fill_expressions(env, data)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False, indent=1)
            file.write("\n")


main(sys.argv[1:])
