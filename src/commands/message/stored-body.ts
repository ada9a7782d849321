import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Contents, MessageBody } from '../../domain/ports/contents.ts';

/** What the vault keeps of a message since it was accepted. @throws {Error} it keeps nothing: a fault. */
export const storedBody = async (contents: Contents, { accepted }: ExistingMessage): Promise<MessageBody> => {
  const { contentId } = accepted;
  const body = (await contents.get([contentId])).get(contentId);
  if (body?.kind !== 'message') throw new Error(`the vault holds no contents ${contentId}`);
  return body;
};
