import { DomainError } from '../../../domain/domain-error.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { messageContentShape, showContent } from '../../schemas/message.ts';
import { bodyOf, loadMessage } from './load-message.ts';

export const getMessageContentRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/messages/:id/content',
    { summary: 'Read what a message says', answer: messageContentShape },
    async ({ caller, id }) => {
      const { message } = await loadMessage(deps, caller, id);
      const { contentId } = message.accepted;
      const body = bodyOf(deps, await deps.context.contents.get([contentId]), contentId);
      if (body === null) throw new DomainError('unavailable', 'the contents of the message cannot be read just now');
      return showContent(id, body);
    },
  );
};
