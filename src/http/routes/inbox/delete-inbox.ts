import { z } from 'zod';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { inboxFilterFields, inboxFilterOf } from './inbox-filter.ts';

const query = z.strictObject(inboxFilterFields);

/** Only there while mail is captured. */
export const deleteInboxRoute = (route: RouteContext): void => {
  const { inbox } = route.deps;
  if (inbox === null) return;
  defineEndpoint(
    route,
    'DELETE /v1/inbox',
    {
      summary: 'Delete captured mail of the organization',
      description: 'All of it, or what the query names. What is not there is no mistake.',
      query,
    },
    async ({ caller, query: asked }) => {
      await inbox.remove(inboxFilterOf(route, caller, asked));
    },
  );
};
