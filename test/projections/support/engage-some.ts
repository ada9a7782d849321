import { type CommandContext, load } from '../../../src/commands/execute.ts';
import { recordEngagement } from '../../../src/commands/message/recipient.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { message } from '../../../src/domain/message/message.ts';

/** A random recipient of a message, or a machine, opens it or follows a link. @param below random, below a bound. */
export const engageSome = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  messageId: string,
  below: (bound: number) => number,
): Promise<void> => {
  const { state } = await load(context.store, message, messageStream(messageId));
  const recipientId = state.status === 'absent' ? undefined : state.recipients[below(state.recipients.length)]?.id;
  if (recipientId === undefined) return;
  const engagement = {
    at: context.system.now().toISOString(),
    count: 1 + below(3),
    machine: below(3) === 0 ? ('image_proxy' as const) : null,
    family: 'firefox' as const,
    network: 'other' as const,
  };
  const click = below(2) === 0 ? null : { link: below(3), links: 3, url: 'https://shop.test/' };
  await recordEngagement(context, { messageId, recipientId, engagements: [{ ...engagement, click }] });
};
