#!/usr/bin/env python3
"""Compares the template engine with jinja2 on random templates and data.

    fuzz_jinja.py --engine build/release/tests/jinja_lines --seconds 600 [--seed N] [--count N]

Needs jinja2 3.1.6, in the environment that transformers renders chat templates with. A difference is
printed with its seed and the template made small; the exit status is then 1. `--case SEED` shows one
case; `--answer tests/data/jinja/reference.jsonl` makes the cases that are kept as tests anew. The last
line says what was compared, also when the run is interrupted. Counted and passed over are: outputs that
hold an object's address; inputs beyond a documented limit of the engine (127-bit integers, filters it
refuses by name); unknown filters and tests that jinja2 never sees because it folded the expression
around them to a constant; a constant nan or inf, for which jinja2 generates Python that does not run;
which of two errors a sort of things that do not compare meets first.
"""
import argparse
import functools
import json
import random
import re
import signal
import subprocess
import sys
import time
import types
from datetime import datetime

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime(2026, 3, 9, 7, 5, 4)


class Generation(jinja2.ext.Extension):
    """{% generation %}, transparent to the text, as in transformers."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class TemplateDict:
    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)


class TemplateNamespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attrs = dict(*args, **kwargs)
        for name in attrs:
            TemplateNamespace._check_name(name)
        jinja2.utils.Namespace.__init__(self, attrs)

    def __setitem__(self, name, value):
        TemplateNamespace._check_name(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check_name(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError("underscore-prefixed attribute")


def make_environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: NOW.strftime(f)
    env.globals["dict"] = TemplateDict()
    env.globals["namespace"] = TemplateNamespace
    return env


STRINGS = ["", "a", "abc", "  padded \t", "Hello World", "x,y,,z", "line1\nline2\r\nline3\n", "\n\nlead", "'q'", '"dq"',
           "it's \"both\"", "back\\slash", "你好 😀", "ÉÀé ß ﬁ", "ΑΣ Σ ΟΔΟΣ", "tab\there", "<b>&amp;</b>", "{{ x }}", "{% if %}",
           "%s and %d", "{} {0}", "12", "-7", "3.5", " 42 ", "0x1f", "1e3", "nan", "one two  three   four", "ABC def-ghi",
           "A1b2", "aaa", "role", "user", "content", "\u00a0nbsp\u2003", "e\u0301", "\x01\x1f\x7f", "a/b?c=d&e", "k", "items", "١٢"]
NAMES = ["x", "y", "s", "n", "xs", "d", "messages", "tools", "flag", "nothing", "ns", "m", "loop", "i", "item"]
KEYS = ["role", "content", "a", "b", "k", "items", "name", "0", "keys", "x"]


class Gen:
    def __init__(self, rng):
        self.r = rng
        self.scope = list(NAMES)
        self.macros = []
        self.in_loop = 0
        self.budget = 60

    def pick(self, *options):
        return self.r.choice(options)

    # --- data

    def data(self, depth=3):
        r = self.r
        kind = r.random()
        if depth <= 0 or kind < 0.55:
            return self.pick(
                r.choice(STRINGS), r.choice(STRINGS), r.randint(-5, 20), r.choice([0, 1, 2, 10**6, -(10**12), 2**63, 12345678901234567890]),
                r.choice([0.0, 1.0, -0.5, 3.14, 1e20, 1e-7, 2.5, 123456789.123, -0.0, 1e16, 0.1]), True, False, None)
        if kind < 0.78:
            if r.random() < 0.5:
                homog = self.pick(lambda: r.choice(STRINGS), lambda: r.randint(-5, 9), lambda: {"role": r.choice(STRINGS), "a": r.randint(0, 3)})
                return [homog() for _ in range(r.randint(0, 5))]
            return [self.data(depth - 1) for _ in range(r.randint(0, 4))]
        return {r.choice(KEYS): self.data(depth - 1) for _ in range(r.randint(0, 4))}

    def context(self):
        c = {"s": self.r.choice(STRINGS), "n": self.r.randint(-5, 12), "xs": [self.data(1) for _ in range(self.r.randint(0, 5))],
             "d": {self.r.choice(KEYS): self.data(2) for _ in range(self.r.randint(0, 4))}, "flag": self.r.random() < 0.5,
             "messages": [{"role": self.pick("user", "assistant", "system", "tool"), "content": self.r.choice(STRINGS)}
                          for _ in range(self.r.randint(0, 4))]}
        for name in ("x", "y", "tools", "i"):
            if self.r.random() < 0.6:
                c[name] = self.data()
        for name in list(c):
            if self.r.random() < 0.07:
                del c[name]
        return c

    # --- expressions

    def string_literal(self):
        s = self.r.choice(STRINGS) if self.r.random() < 0.8 else self.r.choice(["", " ", ",", "-", "a", "\n", "user"])
        quote = self.pick("'", '"')
        out = ""
        for ch in s:
            if ch == quote or ch == "\\":
                out += "\\" + ch
            elif ch == "\n":
                out += self.pick("\\n", "\\n", "\n")
            elif ch == "\r":
                out += "\\r"
            elif ord(ch) < 32 or ord(ch) == 127:
                out += "\\x%02x" % ord(ch)
            elif ord(ch) > 127 and self.r.random() < 0.3:
                out += "\\u%04x" % ord(ch) if ord(ch) < 0x10000 else "\\U%08x" % ord(ch)
            else:
                out += ch
        if self.r.random() < 0.03:
            out += self.pick("\\d", "\\é", "\\101", "\\\n", "\\a", "\\0")
        return quote + out + quote

    def number(self):
        return self.r.choice(["0", "1", "2", "3", "7", "10", "-1", "-3", "1.5", "0.1", "2.0", "1e3", "100", "0x1F", "0b101", "1_000", "0o17", "-2.5",
                              "12345678901234567890", "1e-7", "9007199254740993", "5", "4"])

    def name(self):
        return self.r.choice(self.scope)

    def expr(self, depth=3, kind="any"):
        self.budget -= 1
        r = self.r
        if r.random() < 0.12:
            kind = self.pick("any", "str", "int", "list", "dict", "bool")
        if depth <= 0 or self.budget <= 0:
            return self.atom(kind)
        e = getattr(self, "expr_" + kind)(depth - 1)
        if r.random() < 0.08:
            e = "(" + e + ")"
        return e

    def atom(self, kind):
        if kind == "str":
            return self.pick(self.string_literal(), "s", self.string_literal())
        if kind == "int":
            return self.pick(self.number(), "n", "loop.index" if self.in_loop else "n")
        if kind == "list":
            return self.pick("xs", "messages", "[]", "[1, 2, 3]", "['b', 'a', 'C']", "range(4)", "(1, 2)")
        if kind == "dict":
            return self.pick("d", "{}", "{'a': 1, 'b': [2]}", "messages[0]", "{'role': 'user', 'content': s}")
        if kind == "bool":
            return self.pick("true", "false", "flag", "True", "none", "None")
        return self.pick(self.name(), self.name(), self.string_literal(), self.number(), "none", "true")

    def expr_any(self, depth):
        choice = self.r.random()
        if choice < 0.5:
            return self.expr(depth, self.pick("str", "int", "list", "dict", "bool"))
        if choice < 0.6:
            return f"{self.expr(depth, 'any')} if {self.expr(depth, 'bool')}" + (
                f" else {self.expr(depth, 'any')}" if self.r.random() < 0.75 else "")
        if choice < 0.7:
            return f"{self.primary(depth, self.pick('dict', 'any'))}.{self.r.choice(KEYS + ['missing', 'append', 'update', '__class__', '_x', 'real', 'upper'])}"
        if choice < 0.8:
            return f"{self.primary(depth, self.pick('list', 'dict', 'str'))}[{self.expr(depth, self.pick('int', 'str', 'any'))}]"
        if choice < 0.84:
            return f"{self.primary(depth, 'any')}|default({self.expr(depth, 'any')}{self.pick('', ', true', ', boolean=true')})"
        if choice < 0.9:
            return f"{self.primary(depth, 'any')} {self.pick('or', 'and')} {self.primary(depth, 'any')}"
        if choice < 0.93 and self.macros:
            return self.macro_call(depth)
        if choice < 0.96:
            return f"{self.primary(depth, 'list')}|{self.pick('first', 'last', 'min', 'max', 'sum')}"
        return self.atom("any")

    def primary(self, depth, kind):
        e = self.expr(depth, kind)
        if re.fullmatch(r"[\w.]+|'[^']*'", e) and not e[0].isdigit():
            return e
        return "(" + e + ")"

    def args(self, *options):
        return self.r.choice(options)

    def expr_str(self, depth):
        r = self.r
        p = lambda kind="str": self.primary(depth, kind)
        a = lambda kind="str": self.expr(min(depth, 1), kind)
        choice = r.random()
        if choice < 0.16:
            return self.atom("str")
        if choice < 0.30:
            return f"{p()} {self.pick('+', '~', '~')} {p(self.pick('str', 'str', 'any'))}"
        if choice < 0.34:
            return f"{p()} * {self.pick('2', '3', 'n', '0', '-1')}"
        if choice < 0.39:
            return self.slice(p())
        if choice < 0.66:
            method = r.choice([
                "strip()", "lstrip()", "rstrip()", f"strip({a()})", f"lstrip({a()})", f"rstrip({a()})", "upper()", "lower()", "title()",
                "capitalize()", "swapcase()", "casefold()", f"replace({a()}, {a()})", f"replace({a()}, {a()}, {self.pick('1', '0', '-1', '2')})",
                f"split({a()})|join('|')", "split()|join('|')", f"split({a()}, 1)[{self.pick('0', '-1', '1')}]", f"rsplit({a()}, 1)|string",
                "rsplit(none, 1)|string", "split(none, 2)|string", f"split(maxsplit=1)|string", "splitlines()|string", "splitlines(true)|string",
                f"center({self.pick('9', '12', 'n')})", f"ljust({self.pick('9', '3')}, '.')", f"rjust({self.pick('9', '20')})", f"zfill({self.pick('5', '2', 'n')})",
                f"join({a('list')})", "expandtabs()", "expandtabs(3)", f"partition({a()})|string", f"rpartition({a()})|string",
                f"removeprefix({a()})", f"removesuffix({a()})", f"format({a('any')}, {a('any')})", f"format(x={a('any')})",
                f"format({a('int')})"])
            return f"{p()}.{method}"
        if choice < 0.86:
            f = r.choice([
                "trim", f"trim({a()})", "upper", "lower", "title", "capitalize", f"replace({a()}, {a()})", f"replace({a()}, {a()}, 1)", "string",
                "indent", f"indent({self.pick('2', '0', '4', chr(39) + '> ' + chr(39))}, {self.pick('true', 'false')}, {self.pick('true', 'false')})",
                f"indent(width={self.pick('2', '3')}, first={self.pick('true', 'false')})", f"truncate({self.pick('5', '9', '3', 'n')})",
                f"truncate(5, true, {a()}, 0)", f"truncate(length=6, end='', leeway={self.pick('0', '1')})", f"center({self.pick('9', '10', '2')})",
                "escape", "e", "urlencode", "reverse", f"format({a('any')})", f"format({a('int')}, {a()})", "safe", "forceescape", "striptags"])
            return f"{p(self.pick('str', 'str', 'str', 'any'))}|{f}"
        if choice < 0.90:
            f = r.choice([f"join", f"join({a()})", f"join(', ')", "join(', ', attribute='role')", "join('-', 'a')"])
            return f"{p('list')}|{f}"
        if choice < 0.95:
            return f"{p('any')}|tojson{self.pick('', '', '(indent=2)', '(indent=4)', '(ensure_ascii=true)', '(sort_keys=true)', '(indent=0)', '(separators=(chr, 1))' if False else '(separators=(%s, %s))' % (self.string_literal(), self.string_literal()), '(true)', '(false, 1)', '(indent=%s)' % self.string_literal())}"
        if choice < 0.985:
            fmt = r.choice(["%s", "%d", "%5.2f", "%-6s|", "%05d", "%x", "%+d", "%r", "%%", "%e", "%g", "%c", "%.3s", "%i%%", "%(a)s", "%s-%s", "% d", "%#x", "%o", "%#o", "%5s", "%a", "%G", "%.0f", "%*d"])
            return f"'{fmt}' % {p(self.pick('any', 'int', 'str', 'dict', 'list'))}"
        fmt = r.choice(["{}", "{0}", "{:>5}", "{:<5}|", "{:^7}", "{:05d}", "{:,}", "{:.2f}", "{:x}", "{!r}", "{0[0]}", "{0.real}", "{:+}", "{:%}", "{:e}", "{:.3}", "{:_}", "{:b}", "{:#x}", "{{}}", "{:*^9}", "{:g}", "{:.1f}", "{:08.2f}", "{:s}", "{a}", "{:010,}"])
        return f"'{fmt}'.format({self.expr(depth, self.pick('int', 'any', 'str'))})"

    def slice(self, base):
        # jinja2 folds the slice of a constant that has none to Undefined; we refuse it as at run time.
        if not re.search(r"\b(s|n|x|y|i|m|d|xs|messages|item|flag)\b", base):
            base = self.pick("s", "xs", "'abcdef'", "[1, 2, 3, 4]")
        b = lambda: self.r.choice(["", "", "0", "1", "-1", "2", "-2", "n", "5", "100", "-100"])
        step = self.r.choice(["", "", "", ":", ":1", ":-1", ":2", ":-2"])
        return f"{base}[{b()}:{b()}{step}]"

    def expr_int(self, depth):
        r = self.r
        p = lambda kind="int": self.primary(depth, kind)
        choice = r.random()
        if choice < 0.25:
            return self.atom("int")
        if choice < 0.55:
            return f"{p()} {self.pick('+', '-', '*', '/', '//', '%', '**') if r.random() < 0.95 else '**'} {self.pick(p(), self.number())}"
        if choice < 0.62:
            return f"{self.pick('-', '+')}{p()}"
        if choice < 0.75:
            return f"{p(self.pick('list', 'str', 'dict'))}|{self.pick('length', 'count', 'wordcount')}"
        if choice < 0.92:
            f = r.choice(["int", "float", "abs", "round", "round(1)", "round(2, 'floor')", "round(1, 'ceil')", "round(-1)", "int(5)", "int(default=3)", "int(0, 16)",
                          "float(1.5)", "filesizeformat", "filesizeformat(true)", "int(base=0)", "round(method='ceil')", "round(3)"])
            return f"{p(self.pick('int', 'int', 'str', 'any'))}|{f}"
        m = r.choice(["find('a')", "count('a')", "index('a')", "rfind(' ')", "find('b', 1)", "count('')", "find('a', -3, -1)", "rindex('l')", "find('', 2)", "count('a', 1, 4)"])
        if r.random() < 0.2:
            return f"{p('list')}.{self.pick('index(1)', 'count(1)', 'index(' + self.string_literal() + ')')}"
        return f"{p('str')}.{m}"

    def expr_list(self, depth):
        r = self.r
        p = lambda kind="list": self.primary(depth, kind)
        choice = r.random()
        if choice < 0.22:
            return self.atom("list")
        if choice < 0.36:
            items = ", ".join(self.expr(depth, self.pick("any", "int", "str")) for _ in range(r.randint(0, 4)))
            if r.random() < 0.3:
                return f"({items}{',' if items and r.random() < 0.8 else ''})" if items else "()"
            return f"[{items}{',' if items and r.random() < 0.2 else ''}]"
        if choice < 0.44:
            return self.slice(p())
        if choice < 0.50:
            return f"{p()} + {p()}"
        if choice < 0.56:
            return f"range({', '.join(self.expr(0, 'int') for _ in range(r.randint(1, 3)))})"
        if choice < 0.64:
            return f"{p('dict')}{self.pick('.items()', '.keys()', '.values()', '|items', '|dictsort', '|list', '|dictsort(false, chr)' if False else '|dictsort(by=%s)' % self.pick(chr(39) + 'value' + chr(39), chr(39) + 'key' + chr(39)), '|dictsort(reverse=true)')}{self.pick('', '|list')}"
        tests = self.pick("'defined'", "'string'", "'odd'", "'equalto', 1", "'in', [1, 2, 'a']", "'none'", "'number'", "'mapping'", "'gt', 1", "'ne', 'a'", "'nosuch'", "'divisibleby', 2")
        f = r.choice([
            "list", "sort", "sort(reverse=true)", "sort(attribute='role')", "sort(attribute='a,role')", "sort(false, true)", "unique|list", "unique(true)|list", "reverse|list",
            "map('upper')|list", "map('string')|list", "map(attribute='role')|list", "map(attribute='role', default='?')|list", "map(attribute='content.0')|list",
            "map('default', 'z')|list", "map('int')|list", "map('nosuch')|list", "map('replace', 'a', 'b')|list", "map('tojson')|list", "map(attribute=0)|list",
            f"select|list", f"reject|list", f"select({tests})|list", f"reject({tests})|list", "selectattr('role')|list", f"selectattr('role', {tests})|list",
            "selectattr('role', 'equalto', 'user')|list", "rejectattr('a')|list", f"rejectattr('content', {tests})|list",
            f"batch({self.pick('2', '3', '1', '0')})|list", f"batch(2, {self.atom('any')})|list", f"slice({self.pick('2', '3', '0')})|list", "slice(2, 'f')|list",
            "groupby('role')|list", "groupby('a')|map('list')|list", "groupby('role')|map(attribute='grouper')|list", "groupby('a', default=0)|list",
            "map('length')|list", "map('first')|list", "map('trim')|list", "map('abs')|list", "list|length", "map('upper')", "select('string')|first", "map('join', '-')|list"])
        return f"{p(self.pick('list', 'list', 'any'))}|{f}"

    def expr_dict(self, depth):
        r = self.r
        choice = r.random()
        if choice < 0.4:
            return self.atom("dict")
        if choice < 0.75:
            items = ", ".join(f"{self.expr(0, self.pick('str', 'str', 'int', 'any'))}: {self.expr(depth, 'any')}" for _ in range(r.randint(0, 3)))
            return "{" + items + "}"
        if choice < 0.9:
            return f"dict({self.pick('', self.expr(0, 'dict') + ', ', '[(1, 2)], ')}a={self.expr(depth, 'any')})"
        if choice < 0.95:
            return f"namespace(a={self.expr(depth, 'any')})"
        return f"{self.primary(depth, 'list')}|first"

    def expr_bool(self, depth):
        r = self.r
        p = lambda kind="any": self.primary(depth, kind)
        choice = r.random()
        if choice < 0.12:
            return self.atom("bool")
        if choice < 0.25:
            return f"{p('bool')} {self.pick('and', 'or')} {p('bool')}"
        if choice < 0.33:
            return f"not {p('bool')}"
        if choice < 0.5:
            kind = self.pick("int", "str", "any", "list")
            ops = [self.pick("==", "!=", "<", ">", "<=", ">=") for _ in range(self.pick(1, 1, 1, 2))]
            return p(kind) + "".join(f" {op} {p(kind)}" for op in ops)
        if choice < 0.62:
            container = self.pick("list", "dict", "str")
            return f"{p('str' if container == 'str' else self.pick('any', 'str', 'int'))} {self.pick('in', 'not in')} {p(container)}"
        if choice < 0.9:
            t = r.choice(["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "sequence", "iterable",
                          "callable", "odd", "even", "lower", "upper", "escaped", f"divisibleby {self.pick('2', '3')}", f"divisibleby({self.number()})",
                          f"equalto {self.atom('any')}", f"eq({self.expr(0)})", f"ne {self.number()}", f"in {self.atom('list')}", f"in({self.expr(0, 'list')})",
                          f"sameas none", f"sameas(true)", f"gt {self.number()}", f"lt({self.number()})", "filter", "test", f"== {self.number()}" if False else f"ge({self.number()})"])
            return f"{p(self.pick('any', 'any', 'str', 'int', 'list', 'dict'))} is {self.pick('', '', 'not ')}{t}"
        m = r.choice([f"startswith({self.atom('str')})", f"endswith({self.atom('str')})", "startswith(('a', 'H'))", "isdigit()", "isalpha()", "isupper()", "islower()",
                      "isspace()", "istitle()", "isalnum()", "isnumeric()", "isdecimal()", "isidentifier()", "isascii()", "isprintable()",
                      f"startswith({self.atom('str')}, 1)", f"endswith({self.atom('str')}, 0, 3)"])
        return f"{p('str')}.{m}"

    def macro_call(self, depth):
        name, params = self.r.choice(self.macros)
        given = self.r.randint(0, len(params))
        args = [self.expr(0) for _ in range(given)]
        for q in params[given:]:
            if self.r.random() < 0.4:
                args.append(f"{q}={self.expr(0)}")
        if self.r.random() < 0.1:
            args.append(self.pick("extra=1", "*xs", "**d", "caller=none"))
        return f"{name}({', '.join(args)})"

    # --- statements

    def ws(self):
        return self.r.choice(["", "", "", "", "-", "-", "+"])

    def tag(self, body):
        return "{%" + self.ws() + self.pick(" ", " ", "", "\n ") + body + self.pick(" ", " ", "\n") + self.ws() + "%}"

    def text(self):
        return self.r.choice(["", "", "text", " ", "\n", "\n\n", "  \n  ", "a\n", "\n  b", "  ", "{ ", "}", "%}", "{ { ", "é😀", "\t", "# x", "\u00a0", "}}", "a b", "\r\n"])

    def body(self, depth):
        out = ""
        for _ in range(self.r.randint(0, 3)):
            out += self.text() + self.statement(depth)
        return out + self.text()

    def scoped(self, depth, *names):
        saved, saved_macros = list(self.scope), list(self.macros)
        self.scope += list(names) * 3
        out = self.body(depth)
        self.scope, self.macros = saved, saved_macros
        return out

    def target(self):
        return self.pick("x", "y", "i", "item", "m", "a", "q")

    def statement(self, depth):
        r = self.r
        self.budget -= 1
        choice = r.random()
        if depth <= 0 or self.budget <= 0 or choice < 0.36:
            w = self.pick("", "", "-")
            return "{{" + w + " " + self.expr(self.pick(1, 2, 3)) + " " + self.pick("", "", "-") + "}}"
        if choice < 0.52:
            return self.for_loop(depth - 1)
        if choice < 0.64:
            out = self.tag("if " + self.expr(2, "bool")) + self.body(depth - 1)
            while r.random() < 0.3:
                out += self.tag("elif " + self.expr(2, "bool")) + self.body(depth - 1)
            if r.random() < 0.5:
                out += self.tag("else") + self.body(depth - 1)
            return out + self.tag("endif")
        if choice < 0.78:
            return self.set_statement(depth - 1)
        if choice < 0.84:
            return self.macro(depth - 1)
        if choice < 0.87:
            return "{#" + self.ws() + self.text().replace("#", "") + self.ws() + "#}"
        if choice < 0.89:
            return "{%" + self.pick("", "-", "+") + " raw " + self.pick("", "-") + "%}" + self.text() + "{{ x }}" + self.text() + self.tag("endraw")
        if choice < 0.91:
            return self.tag(f"filter {self.pick('upper', 'trim', 'indent(2)', 'replace(s, n)', 'upper|trim', 'title')}") + self.body(depth - 1) + self.tag("endfilter")
        if choice < 0.94:
            t = self.target()
            return self.tag(f"with {t} = {self.expr(2)}{self.pick('', ', y = x')}") + self.scoped(depth - 1, t) + self.tag("endwith")
        if choice < 0.955:
            return self.tag("generation") + self.body(depth - 1) + self.tag("endgeneration")
        if choice < 0.97 and self.macros:
            name, params = r.choice(self.macros)
            call_args = self.pick("", "(q)", "(q, a=1)")
            return self.tag(f"call{call_args} {self.macro_call(1)}") + self.scoped(depth - 1, "q", "a") + self.tag("endcall")
        if choice < 0.985 and self.in_loop:
            return self.tag("if " + self.expr(1, "bool")) + self.tag(self.pick("break", "continue")) + self.tag("endif")
        if choice < 0.99:
            return self.tag(f"print {self.expr(1)}, {self.expr(1)}")
        return self.pick("{{ raise_exception(s) }}", "{{ strftime_now('%d %b %Y %H:%M %j %A %f%%') }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}",
                         "{% set j = joiner('|') %}{{ j() }}a{{ j() }}b", "{% nosuchtag %}", "{{ x|nosuchfilter }}", "{% if flag %}{{ x|nosuchfilter }}{% endif %}",
                         "{{ x is nosuchtest }}", "{% break %}", "{{ loop }}", "{{ self }}" if False else "{{ s }}", "{{ range(100001)|length }}", "{{ (x }}", "{{ 'a }}")

    def for_loop(self, depth):
        r = self.r
        targets = self.pick("x", "item", "m", "i", "q, a", "x, y", "(q, a)", "m")
        iterable = self.expr(2, "dict") + self.pick(".items()", "|items", "|dictsort") if "," in targets else self.expr(2, self.pick("list", "list", "list", "dict", "str", "any"))
        cond = f" if {self.expr(1, 'bool')}" if r.random() < 0.15 else ""
        recursive = r.random() < 0.08
        names = [t.strip(" ()") for t in targets.split(",")]
        self.in_loop += 1
        inner = ""
        if r.random() < 0.5:
            inner += "{{ loop." + self.pick("index", "index0", "first", "last", "length", "revindex", "revindex0", "previtem", "nextitem", "depth", "depth0",
                                            "cycle('a', 'b', 'c')", "changed(x)", "changed(m.role)", "cycle(*xs)", "nosuch") + " }}"
        if recursive:
            inner += "{{ loop(" + self.pick(names[0], "[]", f"{names[0]}.a", f"{names[0]}[1:]") + ") if " + self.pick("loop.depth < 3", "loop.depth0 < 1 and " + names[0]) + " }}"
        inner += self.scoped(depth, *names)
        self.in_loop -= 1
        out = self.tag(f"for {targets} in {iterable}{cond}{' recursive' if recursive else ''}") + inner
        if r.random() < 0.2:
            out += self.tag("else") + self.body(depth)
        return out + self.tag("endfor")

    def set_statement(self, depth):
        r = self.r
        choice = r.random()
        t = self.target()
        if choice < 0.5:
            self.scope.append(t)
            return self.tag(f"set {t} = {self.expr(3)}")
        if choice < 0.6:
            return self.tag(f"set ns = namespace({self.pick('', 'a=1', 'a=s, b=[]', 'd')})")
        if choice < 0.76:
            return self.tag(f"set ns.{self.pick('a', 'b', 'a', '_p' if r.random() < 0.1 else 'k')} = {self.expr(2)}")
        if choice < 0.86:
            self.scope += ["q", "a"]
            return self.tag(f"set q, a = {self.pick(self.expr(1) + ', ' + self.expr(1), self.expr(2, 'list'))}")
        self.scope.append(t)
        return self.tag(f"set {t}{self.pick('', '', '|upper', '|trim|title', '|replace(s, n)')}") + self.body(depth) + self.tag("endset")

    def macro(self, depth):
        name = self.pick("f", "g", "h")
        params = self.pick([], ["q"], ["q", "a"], ["x", "y", "a"])
        defaults = self.r.randint(0, len(params))
        signature = [p if i < len(params) - defaults else f"{p}={self.expr(1)}" for i, p in enumerate(params)]
        loop, self.in_loop = self.in_loop, 0
        inner = self.scoped(depth, *params)
        self.in_loop = loop
        inner += self.pick("", "", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}", "{{ caller(1) }}", "{{ caller is defined }}", "{{ varargs|length }}{{ kwargs|length }}")
        out = self.tag(f"macro {name}({', '.join(signature)})") + inner + self.tag("endmacro")
        self.macros.append((name, params))
        if self.r.random() < 0.7:
            out += "{{ " + self.macro_call(1) + " }}"
        return out


class Timeout(BaseException):
    pass


class AddressSeen(BaseException):
    pass


class Lazy:
    """A generator that says when a template looks at its address."""

    def __init__(self, generator):
        self.generator = generator

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.generator)

    def __repr__(self):
        raise AddressSeen


class Method:
    """A method that nobody has called yet, and that says the same."""

    def __init__(self, method):
        self.method = method

    def __call__(self, *args, **kwargs):
        return self.method(*args, **kwargs)

    def __repr__(self):
        raise AddressSeen


class Watching(ImmutableSandboxedEnvironment):
    def getattr(self, obj, attribute):
        return self.watched(super().getattr(obj, attribute))

    def getitem(self, obj, argument):
        return self.watched(super().getitem(obj, argument))

    def call(self, context, obj, *args, **kwargs):
        return super().call(context, obj.method if isinstance(obj, Method) else obj, *args, **kwargs)

    @staticmethod
    def watched(value):
        return Method(value) if isinstance(value, (types.BuiltinMethodType, types.MethodType)) else value


def shows_address(env, template, variables):
    """Whether the text depends on the address of a filter's generator or of a method."""
    def watched(call):
        @functools.wraps(call)
        def run(*args, **kwargs):
            result = call(*args, **kwargs)
            return Lazy(result) if isinstance(result, types.GeneratorType) else result
        return run

    watching = env.overlay()
    watching.__class__ = Watching
    watching.filters = {name: watched(call) for name, call in env.filters.items()}
    try:
        reference(watching, template, variables)
        return False
    except AddressSeen:
        return True


def on_alarm(*_):
    raise Timeout


def reference(env, template, variables):
    """("text", text), ("error", class name) or ("skip", why)."""
    signal.alarm(5)
    try:
        try:
            compiled = env.from_string(template)
        except TypeError as e:  # folding a constant such as {[]: 1} failed, reached or not
            return ("skip", f"folding: {e}")
        return ("text", compiled.render(**variables))
    except Timeout:
        return ("skip", "timeout")
    except (RecursionError, MemoryError) as e:
        return ("skip", type(e).__name__)
    except Exception as e:  # every error of the template is an answer
        return ("error", type(e).__name__, str(e))
    finally:
        signal.alarm(0)


ADDRESS = re.compile(r"0x[0-9a-f]{6,}|(<|&lt;)(built-in|function|bound method|generator|class) ", re.I)
SYNTAX = {"TemplateSyntaxError", "TemplateAssertionError", "SyntaxError", "AssertionError"}


class Engine:
    def __init__(self, path):
        self.path = path
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, template, variables):
        line = json.dumps({"template": template, "variables": variables})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            code = self.process.wait()
            self.start()
            return {"error": "CRASH", "message": f"exit status {code}"}
        return json.loads(answer)


def compare(env, engine, template, variables):
    """None when equal, "skip: ..." when not comparable, else a description."""
    want = reference(env, template, variables)
    if want[0] == "skip":
        return "skip: " + want[1]
    got = engine(template, variables)
    if got.get("error") == "CRASH":
        return f"engine died: {got['message']}"
    if got.get("error") in ("LimitError", "Unsupported") or "127 bits" in got.get("message", ""):
        return "skip: " + got["message"][:60]
    if "Exceeds the limit" in str(want[-1]) or "too large to convert" in str(want[-1]):
        return "skip: integer text limit"
    if want[0] == "text":
        if ADDRESS.search(want[1]) or any(0xD800 <= ord(c) < 0xE000 for c in want[1]):
            return "skip: address or surrogate"
        if got.get("text") == want[1]:
            return None
        if re.search("No (filter|test) named", got.get("message", "")):
            return "skip: folded away"
        if shows_address(env, template, variables):
            return "skip: address"
        return f"want text {want[1]!r}\ngot       {got.get('text', got)!r}"
    if want[1] == "NameError" and re.match("name '(nan|inf)'", want[2]):
        return "skip: constant nan or inf"
    if "error" not in got:
        return f"want {want[1]}: {want[2]}\ngot text {got['text']!r}"
    if got["error"] == want[1] or (want[1] in SYNTAX and got["error"] == "TemplateSyntaxError"):
        return None
    if "|sort" in template and {want[1], got["error"]} == {"TypeError", "UndefinedError"}:
        return "skip: order of comparisons"
    return f"want {want[1]}: {want[2]}\ngot  {got['error']}: {got['message']}"


def shrink(env, engine, template, variables):
    """Removes pieces of the template as long as some difference stays."""
    differs = lambda t, v: (lambda d: d is not None and not d.startswith("skip"))(compare(env, engine, t, v))
    size = max(1, len(template) // 2)
    deadline = time.time() + 20
    while size >= 1 and time.time() < deadline:
        at = 0
        while at < len(template) and time.time() < deadline:
            candidate = template[:at] + template[at + size:]
            if differs(candidate, variables):
                template = candidate
            else:
                at += size
        size //= 2
    for name in list(variables):
        smaller = {k: v for k, v in variables.items() if k != name}
        if differs(template, smaller):
            variables = smaller
    return template, variables


def make_case(seed):
    gen = Gen(random.Random(seed))
    variables = gen.context()
    template = gen.body(gen.pick(1, 2, 3, 4))
    if gen.r.random() < 0.04 and template:  # break the syntax
        at = gen.r.randrange(len(template))
        template = template[:at] + gen.pick("", "%", "}", "{{", "'", "(", "|") + template[at + 1:]
    return template, variables


def answer(path):
    """Makes tests/data/jinja/reference.jsonl of {"template", "variables"} lines (or "seed" lines)."""
    for line in open(path):
        case = json.loads(line)
        if "seed" in case and "template" not in case:
            case["template"], case["variables"] = make_case(case["seed"])
        want = reference(make_environment(), case["template"], case.setdefault("variables", {}))
        for old in ("text", "error"):
            case.pop(old, None)
        case[want[0]] = want[1]
        print(json.dumps(case, ensure_ascii=False))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="build/release/tests/jinja_lines")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=10**12, help="cases at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stop", type=int, default=10, help="differences at most")
    parser.add_argument("--case", type=int, help="show one seed and its answers")
    parser.add_argument("--answer", metavar="FILE", help="print the file's cases with jinja2's answers, and end")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.answer:
        return answer(options.answer)
    env, engine = make_environment(), Engine(options.engine)
    if options.case is not None:
        template, variables = make_case(options.case)
        print(template, "\n---", json.dumps(variables, ensure_ascii=False))
        print(reference(env, template, variables), "\n", engine(template, variables))
        return 0
    counts = {"equal": 0, "skipped": 0, "different": 0}
    start = time.time()
    try:
        fuzz(options, env, engine, counts)
    finally:
        done = sum(counts.values())
        print(f"seeds from {options.seed}: {done} templates in {(time.time() - start) / 60:.1f} minutes: {counts}", flush=True)
    return 1 if counts["different"] else 0


def fuzz(options, env, engine, counts):
    start = time.time()
    seed = options.seed
    seen = set()
    while time.time() - start < options.seconds and seed - options.seed < options.count:
        template, variables = make_case(seed)
        difference = compare(env, engine, template, variables)
        if difference is None:
            counts["equal"] += 1
        elif difference.startswith("skip"):
            counts["skipped"] += 1
        else:
            small, small_variables = shrink(env, engine, template, variables)
            if small not in seen:
                seen.add(small)
                counts["different"] += 1
                print(f"=== seed {seed}\n{small!r}\n{json.dumps(small_variables, ensure_ascii=False)}\n"
                      f"{compare(env, engine, small, small_variables)}\n", flush=True)
            if counts["different"] >= options.stop:
                break
        seed += 1


if __name__ == "__main__":
    sys.exit(main())
