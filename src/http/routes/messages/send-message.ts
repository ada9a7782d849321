import { sendMessage } from '../../../commands/message/send-message.ts';
import type { JsonBounds } from '../../bodies/bounded-json.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { sentMessageShape, showSent } from '../../schemas/message.ts';
import { isHtmlAlone, sendBody, sendProblems } from './send-body.ts';
import { SEND_EXAMPLES } from './send-examples.ts';
import { idempotencyKey, sendRequestOf, withFreshDomain } from './send-request.ts';

/** An encoded message of 25 MB, its JSON around it, and bodies with some escapes. */
export const SEND_BYTES_MAX = 29_000_000;
/** HTML and text of a million characters each, with some escapes. More takes the parser longer than others should wait. */
export const SEND_REST_BYTES_MAX = 8_000_000;
/** A message with as much of everything as is allowed has four hundred. */
const VALUES_MAX = 5_000;

export const SEND_BOUNDS: JsonBounds = {
  bytesMax: SEND_BYTES_MAX,
  restBytesMax: SEND_REST_BYTES_MAX,
  valuesMax: VALUES_MAX,
  contentsAt: ['attachments', null, 'content'],
};

export const sendMessageRoute = (route: RouteContext): void => {
  const { context, htmlChecker } = route.deps;
  defineEndpoint(
    route,
    'POST /v1/messages/send',
    {
      summary: 'Send a message',
      body: sendBody,
      examples: SEND_EXAMPLES,
      answer: sentMessageShape,
      bounds: SEND_BOUNDS,
      problems: sendProblems(htmlChecker),
      codeOf: (problems) => (isHtmlAlone(problems) ? 'invalid_html' : 'invalid_request'),
    },
    async ({ caller, callerNow, origin, body, request, reply }) => {
      const key = idempotencyKey(request);
      const sender = await withFreshDomain(route.auth.keyCache, caller);
      const asked = await sendRequestOf(route, sender, body);
      await callerNow(); // analysing it may have taken longer than its sender waits
      const sent = await sendMessage(context, origin, sender, { ...asked, body: request.body, idempotencyKey: key });
      if (sent.replayed) reply.header('idempotent-replayed', 'true');
      return showSent(sent.message, sent.body);
    },
  );
};
