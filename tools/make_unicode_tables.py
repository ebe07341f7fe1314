#!/usr/bin/env python3
"""Writes src/text/unicode_tables.inc: the Unicode properties as Hugging Face's tokenizers sees them.

Usage: pip install tokenizers==0.23.3, then tools/make_unicode_tables.py > src/text/unicode_tables.inc

The package is built from crates of several Unicode versions, none of which is PCRE2's or utf8proc's.
Each table is measured by giving the package every code point. Regex classes are stored as what they
add to the installed libpcre2's own property where that is enough, else whole.
"""
import ctypes
import ctypes.util

from tokenizers import Regex, normalizers, pre_tokenizers

ALL = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
TEXT = "".join(map(chr, ALL))
CATEGORIES = ("L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp "
              "C Cc Cf Cn Co").split()
SCRIPTS = ("Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi "
           "Han Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar "
           "Sinhala Tamil Telugu Thai Tibetan").split()


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def removed_by(normalizer):
    return set(ALL) - set(map(ord, normalizer.normalize_str(TEXT)))


def dropped_by(pre_tokenizer):
    left = set()
    for piece, _ in pre_tokenizer.pre_tokenize_str(TEXT):
        left.update(map(ord, piece))
    return set(ALL) - left


def oniguruma(pattern):
    return removed_by(normalizers.Replace(Regex(pattern), ""))


class Pcre2:
    def __init__(self):
        p = self.p = ctypes.CDLL("libpcre2-8.so.0")
        p.pcre2_compile_8.restype = ctypes.c_void_p
        p.pcre2_match_data_create_from_pattern_8.restype = ctypes.c_void_p
        p.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(ctypes.c_size_t)
        self.text = TEXT.encode()

    def members(self, pattern):
        p, raw = self.p, pattern.encode()
        err, at = ctypes.c_int(), ctypes.c_size_t()
        code = ctypes.c_void_p(p.pcre2_compile_8(raw, ctypes.c_size_t(len(raw)), ctypes.c_uint32(0x00080000),
                                                 ctypes.byref(err), ctypes.byref(at), None))
        assert code, pattern
        match = ctypes.c_void_p(p.pcre2_match_data_create_from_pattern_8(code, None))
        found, pos = set(), 0
        while p.pcre2_match_8(code, self.text, ctypes.c_size_t(len(self.text)), ctypes.c_size_t(pos),
                              ctypes.c_uint32(0x40000000), match, None) >= 0:
            start, pos = p.pcre2_get_ovector_pointer_8(match)[0:2]
            found.update(map(ord, self.text[start:pos].decode()))
        return found


def emit(name, points):
    rows = ranges(points)
    print(f"constexpr CodeRange {name}[] = {{")
    line = "   "
    for lo, hi in rows:
        item = f" {{0x{lo:X}, 0x{hi:X}}},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")


def emit_classes():
    pcre = Pcre2()
    rows = []
    for name in CATEGORIES + SCRIPTS:
        base = f"\\p{{sc:{name}}}" if name in SCRIPTS else f"\\p{{{name}}}"
        want, have = oniguruma(f"\\p{{{name}}}+"), pcre.members(base + "+")
        whole = bool(have - want)
        points = want if whole else want - have
        if points:
            emit(f"kClass{name}", points)
        base = "" if whole else base.replace("\\", "\\\\")
        rows.append(f'    {{"{name}", "{base}", {f"kClass{name}" if points else "{}"}}},')
    emit("kClassWord", oniguruma("\\w+"))
    rows.append('    {"Word", "", kClassWord},')
    emit("kClassWordInSet", oniguruma("[\\w]+"))  # differs in Latin-1
    rows.append('    {"WordInSet", "", kClassWordInSet},')
    emit("kClassAlpha", oniguruma("[[:alpha:]]+"))
    rows.append('    {"Alpha", "", kClassAlpha},')
    print("constexpr RegexClass kRegexClasses[] = {\n" + "\n".join(rows) + "\n};")


def emit_lowercase():
    lower = {c: normalizers.Lowercase().normalize_str(chr(c)) for c in ALL}
    lower = {c: ord(v) for c, v in lower.items() if v != chr(c) and len(v) == 1}
    rows, points = [], sorted(lower)
    for c in points:  # runs of one distance, with a step of 1 or 2
        if rows and lower[c] - c == rows[-1][3]:
            lo, hi, step, _ = rows[-1]
            if c - hi in (1, 2) and (lo == hi or step == c - hi):
                rows[-1][1:3] = [c, c - hi]
                continue
        rows.append([c, c, 1, lower[c] - c])
    print("constexpr LowerRange kLowercase[] = {")
    line = "   "
    for lo, hi, step, delta in rows:
        item = f" {{0x{lo:X}, 0x{hi:X}, {step}, {delta}}},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")


def emit_unknown_to_normalization():
    u = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
    libc = ctypes.CDLL(None)

    def ours(text, options):
        raw, out = text.encode(), ctypes.c_void_p()
        n = u.utf8proc_map(raw, ctypes.c_ssize_t(len(raw)), ctypes.byref(out), (1 << 1) | options)
        result = ctypes.string_at(out.value, n).decode()
        libc.free(out)
        return result

    forms = {normalizers.NFC(): 1 << 3, normalizers.NFD(): 1 << 4,
             normalizers.NFKC(): (1 << 3) | (1 << 2), normalizers.NFKD(): (1 << 4) | (1 << 2)}
    nfd = normalizers.NFD()
    bad = {c for form, options in forms.items() for c in ALL
           if form.normalize_str(chr(c)) != ours(chr(c), options)}
    for c in ALL:  # the same combining class?
        around = (f"a{chr(c)}\u0334", f"a\u0345{chr(c)}", f"a{chr(c)}\u0301", f"a\u0301{chr(c)}", f"a{chr(c)}\u0323")
        if any(nfd.normalize_str(s) != ours(s, 1 << 4) for s in around):
            bad.add(c)
    for c in list(bad):  # a composition the package does not know: its second half is inert too
        parts = ours(chr(c), 1 << 4)
        if len(parts) > 1:
            bad.add(ord(parts[1]))
    emit("kUnknownToNormalization", bad)


def emit_scripts():
    split = pre_tokenizers.UnicodeScripts()

    def apart(text):
        return len(split.pre_tokenize_str(text)) > 1

    latin, han = "a", "\u4e00"
    any_script = {c for c in ALL if not apart(latin + chr(c) + latin) and not apart(han + chr(c) + han)}
    rows, representatives, last = [], [], None
    for c in ALL:
        if c in any_script:
            last = None
            continue
        if last == c - 1 and not apart(chr(last) + chr(c)):
            rows[-1][1] = c
        else:
            for index, r in enumerate(representatives):
                if not apart(r + chr(c)):
                    break
            else:
                index = len(representatives)
                representatives.append(chr(c))
            rows.append([c, c, index + 1])
        last = c
    print("constexpr ScriptRange kScripts[] = {")
    line = "   "
    for lo, hi, script in rows:
        item = f" {{0x{lo:X}, 0x{hi:X}, {script}}},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")


def main():
    space = oniguruma("\\s+")
    digits = pre_tokenizers.Digits(individual_digits=True)
    clean = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False,
                                       lowercase=False)
    accents = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True,
                                         lowercase=False)
    combining = normalizers.StripAccents()
    words = pre_tokenizers.Whitespace()
    print("// Written by tools/make_unicode_tables.py; do not edit.")
    emit("kWhitespace", space)
    emit("kPunctuation", dropped_by(pre_tokenizers.Punctuation("removed")))
    emit("kControl", {c for c in ALL if clean.normalize_str(chr(c)) == ""})
    emit("kNonspacingMark", {c for c in ALL if accents.normalize_str(chr(c)) == ""})
    emit("kCombiningMark", {c for c in ALL if combining.normalize_str(chr(c)) == ""})
    emit("kNumeric", {ord(p) for p, _ in digits.pre_tokenize_str("".join("a" + c for c in TEXT))
                      if len(p) == 1 and p != "a"})
    emit("kWordCharacter", {c for c in ALL if len(words.pre_tokenize_str(f"a{chr(c)}a")) == 1})
    emit_lowercase()
    emit_unknown_to_normalization()
    emit_scripts()
    emit_classes()


if __name__ == "__main__":
    main()
