"""Lengths, parts, case, Base64 and numerals of many strings, in C.

The elements of a string tensor are ``bytes`` objects. To visit a thousand of them costs Python more than the work on
their dozen bytes each; in C both together cost what TensorFlow's kernels do. The functions read the objects where they
lie and make new ones, by functions that every CPython has in its stable interface, so no header of Python's is needed:

    input    PyObject*  PyObject*  PyObject*  ...     the memory of a NumPy array of objects
                |          |          |
    C        b"some"    b"more"    b"words"           PyBytes_AsStringAndSize
                |          |          |
    output   PyObject*  PyObject*  PyObject*  ...     PyBytes_FromStringAndSize

Each function does the plain case and nothing else. Where one element is not plain (a position behind its end, a
character that does not belong, a numeral with an exponent) it gives up, its result is None, and the caller works
through all elements in Python, where what is wrong is also said. So is everything where there is no compiler: the
results are equal, and the tests compare them.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from situs._src.base.compile_c import Deferred

Array = np.ndarray[Any, Any]

MANY = 32  # elements, from which on it is quicker
WORTH_COMPILING = 200_000  # elements seen by a process: by then Python has spent some 10 ms on them

SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct _object PyObject;
extern int PyBytes_AsStringAndSize(PyObject *, char **, ptrdiff_t *);
extern PyObject *PyBytes_FromStringAndSize(const char *, ptrdiff_t);
extern char *PyBytes_AsString(PyObject *);
extern void Py_DecRef(PyObject *);
extern void PyErr_Clear(void);

/* An element's bytes; 0 if it has none. */
static int bytes_of(PyObject *item, const unsigned char **text, ptrdiff_t *size) {
    char *found;
    if (item && PyBytes_AsStringAndSize(item, &found, size) == 0) {
        *text = (const unsigned char *)found;
        return 1;
    }
    PyErr_Clear();
    return 0;
}

/* A new element in the place of an old one; where to write its bytes, or NULL if memory is short. */
static unsigned char *put(PyObject **place, const void *text, ptrdiff_t size) {
    PyObject *made = PyBytes_FromStringAndSize(text, size);
    if (!made) {
        PyErr_Clear();
        return NULL;
    }
    Py_DecRef(*place);
    *place = made;
    return (unsigned char *)PyBytes_AsString(made);
}

int lengths(PyObject **items, int64_t count, int characters, int32_t *out) {
    const unsigned char *text;
    ptrdiff_t size;
    for (int64_t i = 0; i < count; i++) {
        if (!bytes_of(items[i], &text, &size) || size > INT32_MAX) return 0;
        int32_t inner = 0;
        if (characters)
            for (ptrdiff_t j = 0; j < size; j++) inner += (text[j] & 0xC0) == 0x80;
        out[i] = (int32_t)size - inner;
    }
    return 1;
}

int parts(PyObject **items, int64_t count, int64_t start, int64_t most, PyObject **out) {
    const unsigned char *text;
    ptrdiff_t size;
    for (int64_t i = 0; i < count; i++) {
        if (!bytes_of(items[i], &text, &size) || start > size || start < -size) return 0;
        int64_t begin = start < 0 ? size + start : start, rest = size - begin;
        if (!put(&out[i], text + begin, most < 0 || most > rest ? rest : most)) return 0;
    }
    return 1;
}

int cased(PyObject **items, int64_t count, int upper, PyObject **out) {
    const unsigned char *text;
    ptrdiff_t size;
    unsigned char first = upper ? 'a' : 'A';
    for (int64_t i = 0; i < count; i++) {
        if (!bytes_of(items[i], &text, &size)) return 0;
        unsigned char *made = put(&out[i], NULL, size);
        if (!made) return 0;
        for (ptrdiff_t j = 0; j < size; j++)
            made[j] = text[j] ^ (unsigned char)(((unsigned char)(text[j] - first) < 26) << 5);
    }
    return 1;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int encoded(PyObject **items, int64_t count, int pad, PyObject **out) {
    const unsigned char *text;
    ptrdiff_t size;
    for (int64_t i = 0; i < count; i++) {
        if (!bytes_of(items[i], &text, &size) || size > PTRDIFF_MAX / 2) return 0;
        ptrdiff_t threes = size / 3, rest = size % 3;
        unsigned char *made = put(&out[i], NULL, 4 * threes + (rest ? pad ? 4 : rest + 1 : 0));
        if (!made) return 0;
        for (ptrdiff_t j = 0; j < threes; j++, text += 3, made += 4) {
            uint32_t bits = (uint32_t)text[0] << 16 | (uint32_t)text[1] << 8 | text[2];
            made[0] = digits[bits >> 18], made[1] = digits[bits >> 12 & 63];
            made[2] = digits[bits >> 6 & 63], made[3] = digits[bits & 63];
        }
        if (rest) {
            uint32_t bits = (uint32_t)text[0] << 16 | (rest == 2 ? (uint32_t)text[1] << 8 : 0);
            made[0] = digits[bits >> 18], made[1] = digits[bits >> 12 & 63];
            if (rest == 2) made[2] = digits[bits >> 6 & 63];
            if (pad) memset(made + rest + 1, '=', (size_t)(3 - rest));
        }
    }
    return 1;
}

int decoded(PyObject **items, int64_t count, PyObject **out) {
    const unsigned char *text;
    ptrdiff_t size;
    uint8_t values[256];
    memset(values, 255, sizeof values);
    for (int j = 0; j < 64; j++) values[(unsigned char)digits[j]] = (uint8_t)j;
    for (int64_t i = 0; i < count; i++) {
        if (!bytes_of(items[i], &text, &size)) return 0;
        ptrdiff_t bare = size;
        while (bare && text[bare - 1] == '=') bare--;
        ptrdiff_t fours = bare / 4, rest = bare % 4;
        if (rest == 1 || (bare < size && (size % 4 || size - bare > 2))) return 0;
        unsigned char *made = put(&out[i], NULL, 3 * fours + (rest ? rest - 1 : 0));
        if (!made) return 0;
        uint8_t wrong = 0;
        for (ptrdiff_t j = 0; j < fours; j++, text += 4, made += 3) {
            uint8_t a = values[text[0]], b = values[text[1]], c = values[text[2]], d = values[text[3]];
            wrong |= a | b | c | d;
            made[0] = (uint8_t)(a << 2 | b >> 4), made[1] = (uint8_t)(b << 4 | c >> 2), made[2] = (uint8_t)(c << 6 | d);
        }
        if (rest) {
            uint8_t a = values[text[0]], b = values[text[1]], c = rest == 3 ? values[text[2]] : 0;
            wrong |= a | b | c;
            made[0] = (uint8_t)(a << 2 | b >> 4);
            if (rest == 3) made[1] = (uint8_t)(b << 4 | c >> 2);
        }
        if (wrong & 64) return 0;
    }
    return 1;
}

/* Numerals such as -12.5 with at most 15 digits, an integer that a power of ten divides: both are exact in a double. */
int numbers(PyObject **items, int64_t count, int with_points, double *out) {
    static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
                                     1e15 };
    const unsigned char *text;
    ptrdiff_t size;
    for (int64_t i = 0; i < count; i++) {
        if (!bytes_of(items[i], &text, &size)) return 0;
        int sign = size && (text[0] == '-' || text[0] == '+');
        ptrdiff_t point = -1, many = size - sign;
        if (many > 16) return 0;
        int64_t whole = 0;
        for (ptrdiff_t j = sign; j < size; j++) {
            unsigned digit = (unsigned)text[j] - '0';
            if (digit < 10) {
                whole = 10 * whole + digit;
            } else {
                if (text[j] != '.' || point >= 0 || !with_points) return 0;
                point = j;
                many--;
            }
        }
        if (many < 1 || many > 15) return 0;
        double made = (double)whole / powers[point < 0 ? 0 : size - point - 1];
        out[i] = sign && text[0] == '-' ? -made : made;
    }
    return 1;
}
"""


class _Functions:
    """The functions of the library, which are called with the interpreter's lock held."""

    def __init__(self, found: ctypes.CDLL) -> None:
        pointer, count, flag = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
        types = {
            "lengths": (pointer, count, flag, pointer),
            "parts": (pointer, count, count, count, pointer),
            "cased": (pointer, count, flag, pointer),
            "encoded": (pointer, count, flag, pointer),
            "decoded": (pointer, count, pointer),
            "numbers": (pointer, count, flag, pointer),
        }
        self._of_name: dict[str, Any] = {}
        for name, arguments in types.items():
            self._of_name[name] = getattr(found, name)
            self._of_name[name].argtypes = arguments

    def run(self, name: str, value: Array, dtype: Any, *arguments: int) -> Array | None:
        """An array as large as `value`, filled by a function; None if it gave up."""
        if not value.flags.c_contiguous:
            value = np.ascontiguousarray(value)
        made = np.empty(value.shape, dtype)
        whole = self._of_name[name](value.ctypes.data, value.size, *arguments, made.ctypes.data)
        return made if whole else None


def deferred(worth_compiling: int = WORTH_COMPILING) -> Deferred[_Functions]:
    """The library, which is compiled after so many elements."""
    flags = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    return Deferred("strings", SOURCE, _Functions, worth_compiling, flags, holds_the_lock=True)


_library = deferred()
_IS_CPYTHON = sys.implementation.name == "cpython"


def _run(name: str, value: Array, dtype: Any, *arguments: int) -> Array | None:
    found = _library.functions(value.size) if _IS_CPYTHON and value.size >= MANY else None
    return None if found is None else found.run(name, value, dtype, *arguments)


def lengths(value: Array, in_bytes: bool) -> Array | None:
    """How many bytes each string has, or how many characters, as int32."""
    return _run("lengths", value, np.int32, not in_bytes)


def parts(value: Array, start: int, count: int) -> Array | None:
    """The `count` bytes of each string from `start` on, which may be counted from the end; all if `count` is below 0.

    None too where a string ends before `start`.
    """
    return _run("parts", value, object, start, count)


def cased(value: Array, upper: bool) -> Array | None:
    """Each string with its ASCII letters in one case."""
    return _run("cased", value, object, upper)


def encoded(value: Array, pad: bool) -> Array | None:
    """Each string in URL-safe Base64."""
    return _run("encoded", value, object, pad)


def decoded(value: Array) -> Array | None:
    """Each string out of URL-safe Base64; None too where one is not written in it."""
    return _run("decoded", value, object)


def numbers(value: Array, with_points: bool) -> Array | None:
    """The number that each string is, as float64, where all are written as ``-12.5`` with at most 15 digits."""
    return _run("numbers", value, np.float64, with_points)
