"""Hostile templates: what tries to get out, and what tries to burn time or memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ESCAPES = (
    "{{ ''.__class__ }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ [].__class__.__base__.__subclasses__() }}",
    "{{ ().__class__.__bases__[0].__subclasses__()[59].__init__.__globals__ }}",
    "{{ {}.__class__.__mro__[-1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ ''['__class__']['__mro__'][1]['__subclasses__']() }}",
    "{{ ''['\\x5f\\x5fclass\\x5f\\x5f'] }}",
    "{{ ''['__cla' ~ 'ss__'] }}",
    "{{ ''['__cla' 'ss__'] }}",
    "{{ ''['__ssalc__' | reverse] }}",
    "{{ data['__cl' ~ 'ass__']['__init__'] }}",
    "{{ ''|attr('__class__') }}",
    "{{ data|attr('get')('x') }}",
    "{{ data|map(attribute='__class__')|list }}",
    "{{ rows|map('attr', '__class__')|first }}",
    "{{ rows|groupby('__class__') }}",
    "{{ rows|sort(attribute='__class__') }}",
    "{{ rows|join(attribute='__class__') }}",
    "{{ rows|sort(attribute='__class__.__name__')|first }}",
    "{{ data|selectattr('__class__')|list }}",
    "{{ self }}",
    "{{ self.__dict__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ self.__init__.__globals__.__builtins__ }}",
    "{{ self._TemplateReference__context.cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ joiner.__init__.__globals__.os.popen('id').read() }}",
    "{{ namespace.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ lipsum.__globals__.os.system('id') }}",
    "{{ url_for.__globals__.current_app.config }}",
    "{{ get_flashed_messages.__globals__ }}",
    "{{ config.items() }}",
    "{{ config.__class__.from_envvar('PATH') }}",
    "{{ request.application.__globals__.__builtins__.__import__('os').popen('id').read() }}",
    "{{ request['application']['\\x5f\\x5fglobals\\x5f\\x5f'] }}",
    "{{ request|attr('application')|attr('\\x5f\\x5fglobals\\x5f\\x5f') }}",
    "{{ g.pop.__globals__ }}",
    "{{ '{0.__class__}'.format(data) }}",
    "{{ '{0.__class__}'.format_map(data) }}",
    "{{ ('{0.__class__.__init__.__globals__}' | format(data)) }}",
    "{{ '%s' | format(data) }}",
    "{{ '%(x)s' % data }}",
    "{{ '%s' % data.__class__ }}",
    "{{ 'abc'.join.__self__ }}",
    "{{ data.get.__self__ }}",
    "{{ data.items.__func__ }}",
    "{{ rows.append(1) }}",
    "{{ rows.append }}",
    "{{ data.update({'x': 1}) }}",
    "{{ data.pop('name') }}",
    "{{ data.clear() }}",
    "{{ rows.sort.__call__() }}",
    "{{ range(10) }}",
    "{{ dict(a=1) }}",
    "{{ lipsum() }}",
    "{{ cycler('a', 'b').next() }}",
    "{{ joiner(',')() }}",
    "{{ namespace(a=1).a }}",
    "{{ open('/etc/passwd').read() }}",
    "{{ __import__('os').system('id') }}",
    "{{ eval('1') }}",
    "{{ exec('1') }}",
    "{{ globals() }}",
    "{{ caller() }}",
    "{{ super() }}",
    "{{ loop.__class__ }}",
    "{% for x in rows %}{{ loop.__init__.__globals__ }}{% endfor %}",
    "{% for x in rows %}{{ loop._iterable }}{% endfor %}",
    "{% for x in rows %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in rows recursive %}{{ loop(x) }}{% endfor %}",
    "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "{% for k, v in data.items() %}{{ k }}{% endfor %}",
    "{% if ''.__class__ %}x{% endif %}",
    "{% set x = ''.__class__ %}{{ x }}",
    "{% set _x = 1 %}",
    "{% set __builtins__ = 1 %}",
    "{% set ns = namespace() %}{% set ns.x = 1 %}",
    "{% set data.name = 1 %}",
    "{% set x %}{{ ''.__class__ }}{% endset %}",
    "{% with x = ''.__class__ %}{{ x }}{% endwith %}",
    "{% macro m() %}x{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}x{% endcall %}",
    "{% macro m() %}{% endmacro %}{{ m.__globals__ }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os.system('id') }}",
    "{% from 'os' import system %}{{ system('id') }}",
    "{% extends 'base.html' %}",
    "{% block x %}{% endblock %}",
    "{% filter upper %}{% endfilter %}",
    "{% autoescape false %}{{ data }}{% endautoescape %}",
    "{% do data.clear() %}",
    "{% debug %}",
    "{% trans %}{{ data }}{% endtrans %}",
    "{{ data|pprint }}",
    "{{ data|xmlattr }}",
    "{{ data|items|list }}",
    "{{ data is callable }}",
    "{{ data is filter }}",
    "{{ data is __class__ }}",
    "{{ data|__class__ }}",
    "{{ data|tojson(**data) }}",
    "{{ data|tojson(*rows) }}",
    "{{ data|default(__class__=1) }}",
    "{{ (1).__class__ }}",
    "{{ 1.0.real }}",
    "{{ true.__class__ }}",
    "{{ none.__class__ }}",
    "{{ (data, rows).__class__ }}",
    "{{ x.﹍class }}",
    "{{ ﹎﹎class }}",
    "{{ secrets }}",
    "{{ secrets.api_key }}",
    "{{ secrets['api_key'] }}",
    "{% for s in secrets %}{{ s }}{% endfor %}",
    "{{ (secrets)|tojson }}",
    "{% set s = secrets %}{{ s.api_key }}",
    "${{ 7*7 }}{{ ''.__class__ }}",
    "#{ ''.__class__ }{{ ''.__class__ }}",
    "{{ [].__class__.__mro__.__getitem__(1) }}",
    "{{ ''.__class__.mro()[1] }}",
    "{{ data.__getattribute__('x') }}",
    "{{ data.__getitem__('name') }}",
    "{{ rows.__len__() }}",
    "{{ ''.__doc__ }}",
    "{{ ''.__init__.__code__.co_consts }}",
    "{{ (data|attr)('x') }}",
    "{{ 'a'|replace.__class__ }}",
    "{{ data|first.__class__ }}",
)

# What an escape would show, whichever way it got out.
TRACES = (
    "<class",
    "<built-in",
    "<module",
    "<bound",
    "<function",
    "object at 0x",
    "root:x:0",
    "uid=",
)


def mutations(source: str) -> Iterator[str]:
    """Other spellings of the same attack."""
    yield source.replace("{{ ", "{{-").replace(" }}", "-}}").replace("{% ", "{%-")
    yield source.replace("__class__", "\\x5f\\x5fclass\\x5f\\x5f")
    yield source.replace("__", "_\u200b_")
    yield source.replace(".__class__", "['__class__']")
    yield source.replace(".__class__", "['__cla'~'ss__']")
    yield source.replace(".__class__", "[('__class__',)|first]")
    yield source.replace("__class__", "__CLASS__"[::-1])
    yield source.replace(".", " . ").replace("|", " | ")
    yield source.replace("'", '"')
    yield source.replace("{{", "{% if true %}{{").replace("}}", "}}{% endif %}")
    yield source.replace("{{", "{% set q = ").replace("}}", " %}{{ q }}")
    yield source.replace("{{", "{% for q in [").replace("}}", "] %}{{ q }}{% endfor %}")
    yield source.replace("{{", "{% print ").replace("}}", " %}")
    yield source.replace("{{", "{{ (").replace("}}", ")|default('x') }}")
    yield source.replace("{{", "{{ [").replace("}}", "] }}")
    yield source.replace("{{", "{{ {'k': ").replace("}}", "} }}")
    yield source.replace("{{", "{{ '' ~ (").replace("}}", ") }}")
    yield source.replace("{{", "{{ 1 if ").replace("}}", " else 2 }}")
    yield source.replace("{{", "{% raw %}{% endraw %}{{")
    yield source.replace(" ", "\n")


def _exponential() -> list[Any]:
    grown: list[Any] = ["ab"]
    for _ in range(30):
        grown = [grown, grown]
    return grown


def _deep() -> list[Any]:
    grown: list[Any] = []
    for _ in range(200):
        grown = [grown]
    return grown


def large_context() -> dict[str, Any]:
    """Several outputs of a megabyte, as a run may well have them."""
    long = "x" * 1_000_000
    return {
        "n": list(range(2_000)),
        "many": list(range(450_000)),
        "long": long,
        "near": long[:-1] + "y",
        "accents": "é" * 500_000,
        "ligatures": "ﬁ" * 300_000,
        "marks": "a" + "\u0316\u0300" * 200_000,
        "words": [f"w{number}" for number in range(50_000)],
        "alike": ["x" * 900 + str(number) for number in range(1_000)],
        "rows": [{"a": number, "b": f"t{number}", "c": [number]} for number in range(20_000)],
        "table": {f"k{number}": number for number in range(50_000)},
        "giants": [2**2040] * 50_000,
        "deep": _deep(),
        "shared": _exponential(),
        "floats": [1.5] * 100_000,
        "control": "\x00\x01" * 400_000,
        "hay": "a" * 29_000 + "b",
        "needle": "a" * 98 + "ba",
        "pairs": "ab" * 490_000,
        "faces": "😀" * 200_000,
        "text": "hello world",
    }


_EACH = "{% for a in n %}{% for b in n %}BODY{% endfor %}{% endfor %}"


def _twice(body: str) -> str:
    return _EACH.replace("BODY", body)


def _often(body: str) -> str:
    return "{% for a in n %}" + body + "{% endfor %}"


BOMBS = {
    "empty loops": _twice(""),
    "three loops": _often(_twice("")),
    "constant text": _twice("x"),
    "output": _twice("{{ a }}"),
    "conditions": _twice("{% if a > b and b < a %}{% endif %}"),
    "assignments": _twice("{% set z = a %}"),
    "many variables": "".join(f"{{% set v{i}=1 %}}" for i in range(150)) + _twice("{% set z=1 %}"),
    "loop object": _twice("{{ loop.index }}"),
    "loop condition": _often("{% for b in n if b > 3000 %}{% endfor %}"),
    "arithmetic": _twice("{% set z = a * b + a - b %}"),
    "large numbers": _twice("{% set z = (2**2040) % (2**1020 - 1) %}"),
    "large numbers as text": _twice("{% set z = (2**2040) ~ '' %}"),
    "small lists": _twice("{% set z = [a, b, a, b] %}"),
    "small objects": _twice("{% set z = {'a': a, 'b': b} %}"),
    "joins with tilde": _twice("{% set z = a ~ b %}"),
    "captures": _twice("{% set z %}x{% endset %}"),
    "with": _twice("{% with z = a %}{% endwith %}"),
    "unpacking": _often("{% for c, d in [[1, 2]] * 1000 %}{% endfor %}"),
    "defaults": _twice("{{ q.w.e.r.t|default('') }}"),
    "nots": _twice("{% if " + "not " * 50 + "a %}{% endif %}"),
    "branches": _twice("{% if false %}" + "{% elif false %}" * 80 + "{% endif %}"),
    "filter upper": _twice("{% set z = text|upper %}"),
    "filter slugify": _twice("{% set z = text|slugify %}"),
    "filter tojson": _twice("{% set z = text|tojson %}"),
    "filter sort": _twice("{% set z = [3, 1, 2]|sort %}"),
    "filter join": _twice("{% set z = [3, 1, 2]|join %}"),
    "filter date": _twice("{% set z = '2026-05-26'|date('%A %d %B %Y %H:%M:%S %j %U') %}"),
    "filter replace": _twice("{% set z = text|replace('l', 'm') %}"),
    "filter truncate": _twice("{% set z = text|truncate(5) %}"),
    "long upper": _often("{% set z = accents|upper %}"),
    "widening upper": _often("{% set z = ligatures|upper %}"),
    "long slug": "{{ marks|slugify }}",
    "wide slug": "{{ ligatures|slugify }}",
    "long trim": _often("{% set z = long|trim %}"),
    "long trim of long": "{{ long|trim(near) }}",
    "long reverse": _often("{% set z = long|reverse %}"),
    "long slices": _often("{% set z = long[1:] %}"),
    "list slices": _often("{% set z = many[::-1] %}"),
    "long equality": _often("{% if long == near %}{% endif %}"),
    "long order": _often("{% if long < near %}{% endif %}"),
    "row equality": _often("{% if rows == rows %}{% endif %}"),
    "search worst case": _often("{% if needle in hay %}{% endif %}"),
    "search long": _often("{% if near in long %}{% endif %}"),
    "member of a list": _often("{% if 'zz' in words %}{% endif %}"),
    "list member of a list": _often("{% if [1] in rows %}{% endif %}"),
    "long member": _often("{% if (long ~ '') in [near] * 1000 %}{% endif %}"),
    "sort words": _often("{% set z = words|sort %}"),
    "sort alike": _often("{% set z = alike|sort %}"),
    "sort long": "{{ ([long] * 1000)|sort(case_sensitive=true)|length }}",
    "sort rows": _often("{% set z = rows|sort(attribute='b') %}"),
    "sort all": "{{ many|sort(reverse=true) }}",
    "join long": "{{ ([long] * 100000)|join }}",
    "join entries": _often("{% set z = rows|join(',', attribute='c.0') %}"),
    "join giants": "{{ giants|join }}",
    "giants as json": "{{ giants|tojson }}",
    "rows as json": _often("{% set z = rows|tojson %}"),
    "many as json": "{{ many|tojson }}",
    "floats as text": "{{ floats }}.",
    "shared as json": "{{ shared|tojson }}",
    "shared as text": "{{ shared }}.",
    "shared as value": "{{ shared }}",
    "shared compared": "{{ shared == shared }}",
    "shared searched": "{{ ['ab'] in shared }}",
    "deep as json": "{{ deep|tojson }}",
    "deep compared": "{{ deep == deep }}",
    "deep indented": "{{ deep|tojson(8) }}",
    "escapes in json": "{{ [control]|tojson }}",
    "grown list": "{% set a = ['xxxxxxxx'] %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}",
    "grown object": "{% set a = {} %}" + "{% set a = {'a': a, 'b': a} %}" * 60 + "{{ a == a }}",
    "grown text": "{% set a = 'x' %}" + "{% set a = a ~ a %}" * 60 + "{{ a }}",
    "grown sum": "{% set a = [1] %}" + "{% set a = a + a %}" * 60 + "{{ a }}",
    "grown capture": "{% set a = 'x' %}" + "{% set a %}{{a}}{{a}}{% endset %}" * 40 + "{{a}}",
    "grown depth": "{% set a = [] %}" + "{% set a = [a] %}" * 200 + "{{ a|tojson }}",
    "text times": "{{ 'A' * 10**8 }}",
    "times text": "{{ 10**8 * 'A' }}",
    "list times": "{{ [0] * 10**8 }}",
    "text times often": _often("{% set z = 'A' * 1000000 %}"),
    "list times often": _often("{% set z = [0] * 400000 %}"),
    "kept values": "".join(f"{{% set v{i} = faces * 4 ~ '{i}' %}}" for i in range(60)),
    "power": "{{ 10**(10**7) }}",
    "power while reading": "{{ 7**(2*10**6) }}",
    "power tower": "{{ 9**9**9**9 }}",
    "power of twos": "{{ 2**2**2**2**2**2 }}",
    "power of one": "{{ 1**(2**2047) }}",
    "float overflow": "{{ 1e308 * 10 }}",
    "power overflow": "{{ 2.5**(2**2047) }}",
    "negative power": "{{ 2**-99999999999 }}",
    "replace one by many": "{{ long|replace('x', 'yyyyyyyyyy') }}",
    "replace nothing": "{{ long|replace('', 'ab') }}",
    "replace often": _often("{% set z = pairs|replace('ab', 'c') %}"),
    "replace worst case": _often("{% set z = hay|replace(needle, 'z') %}"),
    "replace replaced": "{{ ('x' * 1000)|replace('x', 'x' * 1000)|replace('x', 'x' * 1000) }}",
    "keys": _often("{% for k in table %}{% endfor %}"),
    "first key": _often("{% set z = table|first %}"),
    "characters": "{% for a in long %}{% for b in long %}{% endfor %}{% endfor %}",
    "kept characters": "{% for a in faces if true %}{% endfor %}",
    "long key": _often("{{ {long: 1}[long] }}"),
    "output twice": "{{ long }}{{ long }}",
    "long sums": _often("{% set z = many + many %}"),
}

_ROOM = 8_180


def _filled(unit: str, before: str = "", after: str = "") -> str:
    room = _ROOM - len(before.encode()) - len(after.encode())
    return before + unit * (room // len(unit.encode())) + after


# Sources that make a lexer or a parser slow, each about as long as a source may be.
FLOODS = {
    "open braces": "{" * _ROOM,
    "open pairs": "{{" * (_ROOM // 2),
    "closed pairs": _filled("}}", "{{a"),
    "minuses": _filled("-", "{{", "1}}"),
    "signs": _filled("+-", "{{", "1}}"),
    "blanks": _filled(" ", "{{", "}}"),
    "line ends": _filled("\n", "{{", "}}"),
    "whitespace control": _filled("{{-  -}}"),
    "tag starts": _filled("{%-  "),
    "quotes": _filled("'", "{{"),
    "open text": _filled("a", "{{'"),
    "backslashes": _filled("\\", "{{'"),
    "escapes": _filled("\\x41", "{{'", "'}}"),
    "named escapes": _filled("\\N{LATIN SMALL LETTER A}", "{{'", "'}}"),
    "digits": _filled("9", "{{", "}}"),
    "hex digits": _filled("f", "{{0x", "}}"),
    "digit groups": _filled("1_", "{{", "1}}"),
    "fractions": _filled("1_", "{{1.", "1}}"),
    "exponents": _filled("1", "{{1e", "}}"),
    "choices": _filled("a if b else ", "{{", "a}}"),
    "open choices": _filled("a if b ", "{{", "}}"),
    "nots": _filled("not ", "{{", "a}}"),
    "nots and minuses": _filled("not -", "{{", "1}}"),
    "powers": _filled("2**", "{{", "2}}"),
    "sums": _filled("+1", "{{1", "}}"),
    "tildes": _filled("~a", "{{a", "}}"),
    "ands": _filled(" and a", "{{a", "}}"),
    "ors": _filled(" or a", "{{a", "}}"),
    "comparisons": _filled("<a", "{{a", "}}"),
    "memberships": _filled(" not in a", "{{a", "}}"),
    "brackets": _filled("[", "{{"),
    "closed brackets": _filled("[", "{{")[:4000] + "]" * 3998 + "}}",
    "parentheses": _filled("(", "{{"),
    "closed parentheses": "{{" + "(" * 4000 + "1" + ")" * 4000 + "}}",
    "empty lists": _filled("[],", "{{[", "]}}"),
    "nested objects": _filled("{'a':", "{{"),
    "tuples": _filled("(1,", "{{"),
    "commas": _filled("a,", "{{", "}}"),
    "texts": _filled("'a'", "{{", "}}"),
    "pairs": _filled("'a':1,", "{{ {", "}}}"),
    "filters": _filled("|length", "{{a", "}}"),
    "short filters": _filled("|b", "{{a", "}}"),
    "dotted filters": _filled("a.", "{{x|", "}}"),
    "nested filters": _filled("|default(a", "{{a"),
    "arguments": _filled("1,", "{{a|join(", ")}}"),
    "keywords": _filled("a=1,", "{{a|join(", ")}}"),
    "dots": _filled(".b", "{{a", "}}"),
    "indexes": _filled("[0]", "{{a", "}}"),
    "slices": _filled("[:]", "{{a", "}}"),
    "slice lists": _filled(":,", "{{a[", "]}}"),
    "calls": _filled("()", "{{a", "}}"),
    "tests": _filled(" is b", "{{a", "}}"),
    "open ifs": _filled("{%if a%}"),
    "closed ifs": "{%if a%}" * 480 + "{%endif%}" * 480,
    "open fors": _filled("{%for a in b%}"),
    "closed fors": "{%for a in b%}" * 340 + "{%endfor%}" * 340,
    "elifs": _filled("{%elif a%}", "{%if a%}", "{%endif%}"),
    "sets": _filled("{%set a=1%}"),
    "open sets": _filled("{%set a%}"),
    "withs": _filled("{%with%}"),
    "with pairs": _filled("a=1,", "{%with ", "%}"),
    "targets": _filled("a,", "{%for ", " in b%}{%endfor%}"),
    "nested targets": _filled("(a,", "{%for "),
    "outputs": _filled("{{a}}"),
    "comments": _filled("{##}"),
    "open comments": _filled("{#"),
    "hashes": _filled("#", "{#"),
    "raws": _filled("{% raw %}"),
    "raw ends": _filled("{% endraw ", "{% raw %}"),
    "raw blanks": _filled(" ", "{% raw"),
    "prints": _filled("a,", "{%print ", "%}"),
    "imports": _filled("a,", "{%from a import ", "%}"),
    "accents": _filled("\u0300", "{{a", "}}"),
    "wide names": _filled("ａ", "{{", "}}"),
    "carriage returns": _filled("\r", "{{a", "}}"),
}
