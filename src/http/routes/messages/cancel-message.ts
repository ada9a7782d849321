import { cancelMessage } from '../../../commands/message/change-message.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { ifMatch, setRevision } from '../../revisions.ts';
import { messageShape } from '../../schemas/message.ts';
import { loadMessage } from './load-message.ts';
import { showCurrent } from './show-current.ts';

export const cancelMessageRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'POST /v1/messages/:id/cancel',
    {
      summary: 'Call a message off',
      description:
        'Every recipient who has not got it yet is `cancelled`: those accepted, scheduled or deferred, until the instant ' +
        'at which the message is taken to be sent. While it is being sent nothing is cancelled (409). Cancelling what is ' +
        'cancelled already changes nothing and succeeds, so that a request can be repeated.',
      answer: messageShape,
    },
    async ({ caller, origin, id, request, reply }) => {
      await loadMessage(deps, caller, id);
      const { message, revision } = await cancelMessage(deps.context, origin, { messageId: id, ...ifMatch(request) });
      setRevision(reply, revision);
      return showCurrent(deps, message);
    },
  );
};
