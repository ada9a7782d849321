import { describe, expect, test } from 'vitest';
import {
  exampleValues,
  resolveValues,
  textualValues,
  type Variable,
  type VariableType,
  valueProblem,
} from '../../../src/domain/template/content.ts';
import { isOnCalendar } from '../../../src/lib/templates/templates.ts';

const variable = (name: string, type: VariableType, more: Partial<Variable> = {}): Variable => ({
  name,
  type,
  required: true,
  ...more,
});

describe('the values of a send', () => {
  test.each<[VariableType, readonly unknown[], readonly unknown[]]>([
    ['string', ['', 'a'], [1, true, [], {}]],
    ['number', [0, -1.5], ['1', Number.NaN, Number.POSITIVE_INFINITY]],
    ['boolean', [true, false], ['true', 0]],
    ['date', ['2026-01-31', '2026-01-31T09:30:00Z', '2026-01-31T09:30+01:00'], ['31.1.2026', '2026-13-01', 1, 'now']],
    [
      'url',
      ['https://example.com/a?b=c', 'mailto:a@b.test'],
      ['javascript:alert(1)', 'example.com', 'data:text/html,x', 1],
    ],
    ['list', [[], [1]], [{}, 'a', null === undefined]],
    ['object', [{}, { a: 1 }], [[], 'a']],
  ])('of type %s are checked', (type, right, wrong) => {
    for (const value of right) expect(resolveValues([variable('v', type)], { v: value }).problems).toEqual({});
    for (const value of wrong) {
      const { problems } = resolveValues([variable('v', type)], { v: value });
      expect(problems.v).toMatch(/^must be/);
    }
  });

  test('that are required and missing, or null, are reported by name', () => {
    const variables = [variable('name', 'string'), variable('city', 'string')];
    expect(resolveValues(variables, { city: null }).problems).toEqual({
      name: 'is required',
      city: 'is required',
    });
  });

  test('named like a member of every object are reported as missing too', () => {
    const variables = [variable('constructor', 'string'), variable('toString', 'object')];
    expect(resolveValues(variables, {}).problems).toEqual({ constructor: 'is required', toString: 'is required' });
  });

  test.each(['2026-00-10', '2026-13-05', '2026-02-29', '2026-04-31', '2026-01-00'])('%s is on no calendar', (day) => {
    expect(isOnCalendar(day)).toBe(false);
  });

  test.each(['2026-01-31', '2026-12-31', '2028-02-29', 'tomorrow'])('%s is not a day that no calendar has', (day) => {
    expect(isOnCalendar(day)).toBe(true);
  });

  test('have defaults', () => {
    const variables = [variable('name', 'string', { default: 'you' }), variable('note', 'string', { required: false })];
    expect({ ...resolveValues(variables, {}).values }).toEqual({ name: 'you', note: null });
  });

  test('that are not declared are hidden from the template, and reported', () => {
    const { values, unused } = resolveValues([variable('name', 'string')], { name: 'Ann', nmae: 'Ann' });
    expect([Object.keys(values), unused]).toEqual([['name'], ['nmae']]);
  });

  test('may have any name', () => {
    const given = JSON.parse('{"__proto__": "x", "constructor": "y"}') as Record<string, unknown>;
    const { values, problems } = resolveValues(
      [variable('__proto__', 'number'), variable('constructor', 'string')],
      given,
    );
    expect(Object.keys(problems)).toEqual(['__proto__']);
    expect(Object.keys(values)).toEqual(['constructor']);
  });

  test('of a trial are the examples', () => {
    expect(exampleValues([variable('name', 'string', { example: 'Ann' }), variable('x', 'number')])).toEqual({
      name: 'Ann',
    });
  });
});

test('numbers and booleans become texts only where a text is declared', () => {
  const variables = [variable('text', 'string'), variable('count', 'number'), variable('list', 'list')];
  expect(textualValues(variables, { text: 42, count: 42, list: [1], other: 1 })).toEqual({
    text: '42',
    count: 42,
    list: [1],
    other: 1,
  });
  for (const [given, told] of [
    [true, 'true'],
    [null, null],
    [{ a: 1 }, { a: 1 }],
    ['a', 'a'],
  ])
    expect(textualValues(variables, { text: given })).toEqual({ text: told });
});

test.each(['2026-02-29', '2026-02-29T10:00:00Z', '2026-04-31', '2026-13-01'])(
  '%s is not a date: the day does not exist',
  (day) => {
    expect(valueProblem('date', day)).toMatch(/must be a date/);
  },
);

test.each(['2028-02-29', '0001-01-01', '2026-12-31T23:59:59+14:00'])('%s is a date', (day) => {
  expect(valueProblem('date', day)).toBeNull();
});
