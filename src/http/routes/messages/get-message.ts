import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { messageShape } from '../../schemas/message.ts';
import { loadMessage } from './load-message.ts';
import { showCurrent } from './show-current.ts';

export const getMessageRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/messages/:id',
    { summary: 'Read a message and how it stands', answer: messageShape },
    async ({ caller, id, reply }) => {
      const { message, revision } = await loadMessage(deps, caller, id);
      setRevision(reply, revision);
      return showCurrent(deps, message);
    },
  );
};
