import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { dateFieldsOf, endOfDay, readDates, startOfDay, timeField, timeParameter } from '../../../src/http/fields.ts';

describe('a day of a time zone', () => {
  test.each([
    ['2026-11-27', 'UTC', '2026-11-27T00:00:00.000Z', '2026-11-27T23:59:59.999Z'],
    ['2026-11-27', 'America/Los_Angeles', '2026-11-27T08:00:00.000Z', '2026-11-28T07:59:59.999Z'],
    ['2026-11-27', 'Asia/Kathmandu', '2026-11-26T18:15:00.000Z', '2026-11-27T18:14:59.999Z'],
    ['2026-11-27', 'Pacific/Kiritimati', '2026-11-26T10:00:00.000Z', '2026-11-27T09:59:59.999Z'],
    // Days of 23 and of 25 hours.
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.999Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00.000Z', '2026-10-25T22:59:59.999Z'],
    // The clock jumps from 23:59:59 to 01:00:00, and from 00:59:59 back to 00:00:00.
    ['2026-03-29', 'Asia/Beirut', '2026-03-28T22:00:00.000Z', '2026-03-29T20:59:59.999Z'],
    ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000Z', '2026-11-02T04:59:59.999Z'],
    // The earliest and latest times that can be stored.
    ['1970-01-01', 'Asia/Tokyo', '1970-01-01T00:00:00.000Z', '1970-01-01T14:59:59.999Z'],
    ['9999-12-31', 'America/Los_Angeles', '9999-12-31T08:00:00.000Z', '9999-12-31T23:59:59.999Z'],
  ])('%s in %s begins and ends by its clocks', (date, zone, start, end) => {
    expect([startOfDay(date, zone), endOfDay(date, zone)]).toEqual([start, end]);
  });
});

describe('dates in a request', () => {
  const schema = z
    .strictObject({
      since: timeParameter().optional().describe('From this time on.'),
      expires_at: timeParameter().nullable().default(null),
      at: timeField().optional(),
      q: z.string().optional(),
      filter: z.strictObject({ until: timeParameter().optional() }).optional(),
    })
    .refine(() => true);
  const fields = dateFieldsOf(schema);
  const read = (sent: object) => readDates(fields, schema.parse(sent), 'America/Los_Angeles');

  test('are read in the zone wherever the schema accepts them, however it is wrapped', () => {
    const date = '2026-11-27';
    expect(read({ since: date, expires_at: date, filter: { until: date } })).toEqual({
      since: '2026-11-27T08:00:00.000Z',
      expires_at: '2026-11-27T08:00:00.000Z',
      filter: { until: '2026-11-27T08:00:00.000Z' },
    });
  });

  test('are unchanged in other fields, and so are times', () => {
    const time = '2026-11-27T01:02:03.000Z';
    expect(read({ q: '2026-11-27', since: time, at: time })).toEqual({
      q: '2026-11-27',
      since: time,
      at: time,
      expires_at: null,
    });
  });

  test.each(['2026-02-30', '2026-13-01', '2026-11-27\r\n', '2026-11-27T', '10000-01-01'])('%j is refused', (text) => {
    expect(schema.safeParse({ since: text }).success).toBe(false);
  });

  test('are not searched for in a schema that accepts none', () => {
    expect(dateFieldsOf(z.strictObject({ q: z.string() })).size).toBe(0);
    expect(dateFieldsOf(z.union([z.string(), z.number()])).size).toBe(0);
  });
});
