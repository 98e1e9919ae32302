"""Words that mean harm, as agents may choose them for their names, answers and reasons."""

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
QUOTED = "'\"><svg/onload=alert(3)>"
ATTRIBUTE = '" onmouseover="x'
TEMPLATE = "{{ 7 * 7 }}"
FORMULA = "=1+1"
BIDI = "\u202egnp.exe"
ESCAPE = "\x1b[2J"
