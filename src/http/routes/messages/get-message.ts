import { defineEndpoint, type House } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { messageShape, showMessage } from '../../shapes/message-shape.ts';
import { bodyOf, loadMessage } from './load-message.ts';

export const getMessageRoute = (house: House): void => {
  const { deps } = house;
  defineEndpoint(
    house,
    'GET /v1/messages/:id',
    { summary: 'Read a message and how it stands', answer: messageShape },
    async ({ caller, id, reply }) => {
      const { message, revision } = await loadMessage(deps, caller, id);
      const { contentId } = message.accepted;
      const replies = message.recipients.map(({ smtp }) => smtp?.replyId ?? null).filter((one) => one !== null);
      const contents = await deps.context.contents.heads([contentId, ...replies]);
      setRevision(reply, revision);
      return showMessage(message, bodyOf(deps, contents, contentId), contents);
    },
  );
};
