import { z } from 'zod';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { inboxFilterFields, inboxFilterOf } from './inbox-filter.ts';

const query = z.strictObject(inboxFilterFields);

/** Only there while mail is captured. */
export const deleteInboxRoute = (house: House): void => {
  const { inbox } = house.deps;
  if (inbox === null) return;
  defineEndpoint(
    house,
    'DELETE /v1/inbox',
    {
      summary: 'Delete captured mail of the organization',
      description: 'All of it, or what the query names. What is not there is no mistake.',
      query,
    },
    async ({ caller, query: asked }) => {
      await inbox.remove(inboxFilterOf(house, caller, asked));
    },
  );
};
