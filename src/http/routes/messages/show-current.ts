import type { ExistingMessage } from '../../../domain/message/message.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { type MessageShape, showMessage } from '../../schemas/message.ts';
import { bodyOf } from './load-message.ts';

/** A message as it stands, with what the vault still holds of it. */
export const showCurrent = async (deps: HttpDependencies, message: ExistingMessage): Promise<MessageShape> => {
  const { contentId } = message.accepted;
  const replies = message.recipients.map(({ smtp }) => smtp?.replyId ?? null).filter((one) => one !== null);
  const contents = await deps.context.contents.heads([contentId, ...replies]);
  return showMessage(message, bodyOf(deps, contents, contentId), contents);
};
