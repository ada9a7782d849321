import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, hasHalfPair } from '../../../src/lib/transparency/transparency.ts';

describe('canonical JSON', () => {
  test('is written as the example of RFC 8785 §3.2.2', () => {
    const value = JSON.parse(`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`);
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test('sorts members by UTF-16 code units, as the example of RFC 8785 §3.2.3', () => {
    const names = ['\u20ac', '\r', '\ufb33', '1', '\u{1f600}', '\u0080', '\u00f6'];
    const text = canonicalJson(Object.fromEntries(names.map((name, index) => [name, index])));
    const order = [...text.matchAll(/"((?:[^"\\]|\\.)*)":/g)].map(([, name]) => JSON.parse(`"${name}"`));
    expect(order).toEqual(['\r', '1', '\u0080', '\u00f6', '\u20ac', '\u{1f600}', '\ufb33']);
  });

  test('puts the member "10" before "9", which an object cannot', () => {
    expect(canonicalJson({ 9: 1, 10: 2, a: undefined })).toBe('{"10":2,"9":1}');
  });

  test.each([
    [Number.MIN_VALUE, '5e-324'],
    [-0, '0'],
    [-5e-324, '-5e-324'],
    [Number.MAX_VALUE, '1.7976931348623157e+308'],
    [1e21, '1e+21'],
    [999999999999999700000, '999999999999999700000'],
    [0.000001, '0.000001'],
    [1e-7, '1e-7'],
  ])('writes %d as ECMAScript does (RFC 8785, appendix B)', (number, text) => {
    expect(canonicalJson(number)).toBe(text);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1n, Symbol('s'), () => 1, undefined])('refuses %s', (value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });

  test('says what JSON says, the same for members in any order', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(text, (_, nested) => reversed(nested)))).toBe(text);
      }),
    );
  });

  test('distinguishes names with a comma from several names', () => {
    for (let time = 0; time < 2; time += 1) {
      expect(canonicalJson({ c: 3, b: 2, a: 1 })).toBe('{"a":1,"b":2,"c":3}');
      expect(canonicalJson({ 'c,b': 2, a: 1 })).toBe('{"a":1,"c,b":2}');
      expect(canonicalJson({ c: 2, 'b,a': 1 })).toBe('{"b,a":1,"c":2}');
      expect(canonicalJson({ 'c,b,a': 1 })).toBe('{"c,b,a":1}');
    }
  });

  test('is the same for more kinds of objects than are cached', () => {
    for (let number = 0; number < 3_000; number += 1) {
      const [z, a] = [`z${number}`, `a${number}"`];
      expect(canonicalJson({ [z]: 1, [a]: 2 })).toBe(`{${JSON.stringify(a)}:2,"${z}":1}`);
    }
  });

  test('distinguishes half a surrogate pair from everything that looks like one', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', '\\', 'u', 'd', '8', '3', '"') }), (text) => {
        expect(hasHalfPair(canonicalJson({ [text]: text }))).toBe(!text.isWellFormed());
      }),
      { numRuns: 2_000 },
    );
  });
});

const reversed = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).reverse())
    : value;
