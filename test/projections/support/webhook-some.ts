import type { CommandContext, Origin } from '../../../src/commands/execute.ts';
import {
  adoptWebhook,
  deleteWebhook,
  disableWebhook,
  pauseWebhook,
  pingWebhook,
  registerWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from '../../../src/commands/webhook.ts';

/** Registers, changes, disables or deletes a random webhook. @param below a number in [0, limit). */
export const webhookSome = async (
  context: CommandContext,
  origin: Origin,
  webhookIds: string[],
  below: (limit: number) => number,
): Promise<void> => {
  const environment = 'live';
  const named = { webhookId: webhookIds[below(Math.max(1, webhookIds.length))] ?? '', environment } as const;
  const actions: readonly (() => Promise<unknown>)[] = [
    ...Array.from({ length: 2 }, () => async () => {
      const asked = { url: 'https://hooks.example/', events: ['message.*'], description: null, environment } as const;
      const { webhook } = await registerWebhook(context, origin, asked);
      webhookIds.push(webhook.webhookId);
    }),
    () => disableWebhook(context, origin, { ...named, reason: 'gone' }),
    () => deleteWebhook(context, origin, named),
    async () => {
      await updateWebhook(context, origin, { ...named, events: ['domain.*'], enabled: below(2) === 0 });
      await rotateWebhookSecret(context, origin, { ...named, gracePeriodMinutes: 5 });
      await pingWebhook(context, origin, named);
      const byKey = { ...origin, actor: 'key:key_1' };
      await updateWebhook(context, byKey, { ...named, events: ['message.*', 'domain.*'] });
      await pauseWebhook(context, origin, { ...named, keyId: 'key_1' });
      await adoptWebhook(context, origin, { ...named, bounds: null });
    },
  ];
  await actions[below(actions.length)]?.();
};
