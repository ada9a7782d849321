import { z } from 'zod';
import { rescheduleMessage } from '../../../commands/message/change-message.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { ifMatch, setRevision } from '../../revisions.ts';
import { messageShape } from '../../schemas/message.ts';
import { timeField } from '../../validation/time-field.ts';
import { loadMessage } from './load-message.ts';
import { showCurrent } from './show-current.ts';

const body = z.strictObject({ scheduled_at: timeField().describe('When to send, with its zone.') });

export const rescheduleMessageRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'PATCH /v1/messages/:id',
    {
      summary: 'Give a scheduled message another time',
      description:
        'Sooner or later, at most 30 days ahead, until the instant at which the message is taken to be sent. Its time to ' +
        'live is as long as it was, counted from the new time.',
      body,
      examples: { 'Another day': { scheduled_at: '2030-01-01T09:00:00Z' } },
      answer: messageShape,
    },
    async ({ caller, origin, id, body: { scheduled_at: scheduledAt }, request, reply }) => {
      await loadMessage(deps, caller, id);
      const command = { messageId: id, scheduledAt, ...ifMatch(request) };
      const { message, revision } = await rescheduleMessage(deps.context, origin, command);
      setRevision(reply, revision);
      return showCurrent(deps, message);
    },
  );
};
