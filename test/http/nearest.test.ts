import { describe, expect, test } from 'vitest';
import { nearest } from '../../src/http/nearest.ts';

const FIELDS = ['from', 'to', 'cc', 'bcc', 'subject', 'html', 'text', 'scheduled_at', 'template_id', 'attachments'];

describe('the nearest name', () => {
  test.each([
    ['form', 'from'],
    ['subjct', 'subject'],
    ['Subject', 'subject'],
    ['scheduledAt', 'scheduled_at'],
    ['scheduel_at', 'scheduled_at'],
    ['atachment', 'attachments'],
    ['templateId', 'template_id'],
  ])('of %s is %s', (name, meant) => {
    expect(nearest(name, FIELDS)).toBe(meant);
  });

  test.each(['', 'x', 'body', 'reply', 'zzzzzz'])('has no suggestion for %j', (name) => {
    expect(nearest(name, FIELDS)).toBeUndefined();
  });

  test('takes the first of two that are equally near', () => {
    expect(nearest('cat', ['car', 'can'])).toBe('car');
  });
});
