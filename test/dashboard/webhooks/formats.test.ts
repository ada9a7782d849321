import { expect, test } from 'vitest';
import { SENDGRID_TYPES } from '../../../src/dashboard/webhooks/formats.ts';
import { SENDGRID_EVENTS } from '../../../src/domain/webhook/sendgrid.ts';

test('the form offers every event type that the format of SendGrid has', () => {
  expect(SENDGRID_TYPES).toEqual(SENDGRID_EVENTS);
});
