import { expect, test } from 'vitest';
import { TYPES_OF_FORMAT } from '../../../src/dashboard/webhooks/formats.ts';
import { RESEND_EVENTS } from '../../../src/domain/webhook/resend.ts';
import { SENDGRID_EVENTS } from '../../../src/domain/webhook/sendgrid.ts';

test.each([
  ['sendgrid', SENDGRID_EVENTS],
  ['resend', RESEND_EVENTS],
  ['postmark_inbound', ['inbound.received']],
  ['sendgrid_inbound', ['inbound.received']],
])('the form offers every event type that the format %s has', (format, types) => {
  expect(TYPES_OF_FORMAT[format]?.toSorted()).toEqual(types.toSorted());
});
