import { sendMessage } from '../../../commands/message/send-message.ts';
import type { Caller } from '../../../domain/caller.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { KeyDirectory } from '../../door/key-directory.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { sentMessageShape, showSent } from '../../shapes/message-shape.ts';
import { draftOf, isHtmlAlone, sendBody, sendProblems } from './send-body.ts';

/** An encoded message of 25 MB, its JSON around it, and bodies with some escapes. */
const SEND_BYTES_MAX = 29_000_000;
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/** @throws {Refusal} `invalid_request`. */
const idempotencyKey = (header: string | string[] | undefined): string | null => {
  if (header === undefined) return null;
  if (typeof header === 'string' && PRINTABLE.test(header)) return header;
  throw new Refusal('invalid_request', 'the Idempotency-Key is malformed', {
    details: { 'Idempotency-Key': ['Idempotency-Key must be 1 to 255 printable ASCII characters'] },
  });
};

/** A domain verified a moment ago counts: the log is asked again before its mail is refused. */
const withFreshDomain = async (directory: KeyDirectory, caller: Caller): Promise<Caller> => {
  if (caller.domain.verified || caller.environment === 'test') return caller;
  await directory.catchUp();
  return { ...caller, domain: directory.domainOf(caller.domain.id) };
};

export const sendMessageRoute = (house: House): void => {
  const { context, htmlChecker } = house.deps;
  defineEndpoint(
    house,
    'POST /v1/messages/send',
    {
      summary: 'Send a message',
      body: sendBody,
      answer: sentMessageShape,
      bodyBytesMax: SEND_BYTES_MAX,
      problems: sendProblems(htmlChecker),
      codeOf: (problems) => (isHtmlAlone(problems) ? 'invalid_html' : 'invalid_request'),
    },
    async ({ caller, origin, body, request, reply }) => {
      const key = idempotencyKey(request.headers['idempotency-key']);
      const sender = await withFreshDomain(house.door.directory, caller);
      const sent = await sendMessage(context, origin, sender, {
        draft: draftOf(body),
        idempotency: key === null ? null : { key, body: request.body },
      });
      if (sent.replayed) reply.header('idempotent-replayed', 'true');
      return showSent(sent.message, sent.body);
    },
  );
};
