import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import { endpoint } from '../endpoint.ts';
import { BATCH_BOUNDS, BATCH_DEADLINE_MS } from '../resources/messages/send-batch.ts';
import { isSent } from '../resources/messages/send-body.ts';
import { SEND_BYTES_MAX, SEND_REST_BYTES_MAX } from '../resources/messages/send-message.ts';
import { type Fields, takeFields } from './fields.ts';
import { PERSONALIZATION, SENDGRID_NAMES, SHARED } from './sendgrid-fields.ts';
import { requireMessages, requireNone, requireObject, sendMany } from './translate.ts';

/**
 * Endpoint for the npm package `@sendgrid/mail` (version 8): `client.setDefaultRequest('baseUrl', '<this service>/compat/sendgrid/')`
 * after `setApiKey`. Each personalization is one message; either all of them are accepted or none.
 */

/** A personalization's fields take precedence over shared ones; headers and arguments are merged. */
const combined = (shared: Fields, own: Fields): Fields => ({
  ...shared,
  ...own,
  ...Object.fromEntries(
    ['headers', 'metadata', 'template'].flatMap((name) => {
      const [all, one] = [shared[name], own[name]];
      return isSent(all) && isSent(one) ? [[name, { ...all, ...one }]] : [];
    }),
  ),
});

/** Total length of all texts and names in a value, whose depth and size were bounded when it was read. */
const charactersIn = (value: unknown): number => {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, one]) => sum + name.length + charactersIn(one), 0);
};

const filesIn = ({ attachments }: Fields): number =>
  Array.isArray(attachments)
    ? attachments.reduce<number>((sum, one) => sum + (isSent(one) ? charactersIn(one.content) : 0), 0)
    : 0;

/** One body makes many messages, each of which is stored: no more than a batch of ours may hold. @throws {DomainError} `body_too_large`. */
const requireSmall = (shared: Fields, count: number): void => {
  const all = charactersIn(shared) * count;
  const rest = all - filesIn(shared) * count;
  if (count === 1 || (all <= SEND_BYTES_MAX && rest <= SEND_REST_BYTES_MAX)) return;
  throw new DomainError(
    'body_too_large',
    `content and attachments for ${count} personalizations are larger than ${SEND_BYTES_MAX} bytes, or ${SEND_REST_BYTES_MAX} without attachments: send fewer in one request`,
  );
};

const MESSAGE_ID_HEADER = 'x-message-id';

export const sendSendgridMailRoute = endpoint(
  'POST /compat/sendgrid/v3/mail/send',
  {
    summary: 'send',
    body: z.unknown(),
    bounds: { ...BATCH_BOUNDS, joinsLines: true, contentsAt: ['attachments', null, 'content'] },
    deadlineMs: BATCH_DEADLINE_MS,
  },
  async (call, route) => {
    const { personalizations, ...rest } = requireObject(call.body);
    const people = requireMessages(personalizations, 'personalizations');
    requireSmall(rest, people.length);
    const shared = takeFields(rest, SHARED);
    requireNone(shared.problems);
    const sent = await sendMany(route, call, {
      // Store each message as if it had been sent in a request of its own.
      messages: people.map((one) => (isSent(one) ? { ...rest, personalizations: [one] } : one)),
      strict: true,
      translate: (_, index) => {
        const own = takeFields(people[index] as Fields, PERSONALIZATION); // it is an object: it was translated into one
        return { fields: combined(shared.fields, own.fields), problems: own.problems };
      },
      names: SENDGRID_NAMES,
      placeOf: (index) => `personalizations[${index}].`,
    });
    const [first] = sent;
    if (first !== undefined && !(first instanceof DomainError))
      call.reply.header(MESSAGE_ID_HEADER, first.message.accepted.messageId);
  },
);
