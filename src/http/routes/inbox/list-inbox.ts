import { z } from 'zod';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { capturedMailShape, showCapturedMail } from '../../schemas/inbox.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { decodePlace, encodePlace } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { inboxFilterFields, inboxFilterOf } from './inbox-filter.ts';

const LIST = 'inbox';
const query = z.strictObject({ ...pageParameters, ...inboxFilterFields });

/** Only there while mail is captured: otherwise there is nothing to see, and the path is unknown. */
export const listInboxRoute = (route: RouteContext): void => {
  const { inbox } = route.deps;
  if (inbox === null) return;
  defineEndpoint(
    route,
    'GET /v1/inbox',
    { summary: 'Captured mail of the organization, newest first', query, answer: listShape(capturedMailShape) },
    async ({ caller, query: { limit, after, ...asked } }) => {
      const filter = inboxFilterOf(route, caller, asked);
      const { mails, next } = await inbox.list({ limit, ...decodePlace(LIST, after), ...filter });
      return listOf(mails.map(showCapturedMail), next !== null, encodePlace(LIST, next));
    },
  );
};
