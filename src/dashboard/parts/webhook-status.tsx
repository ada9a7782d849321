import type { JSX } from 'preact';
import type { SerializedWebhook } from '../../http/schemas/webhook.ts';
import { sofar } from '../data/time.ts';
import { Pill, Status } from './icons.tsx';
import type { State } from './shapes.ts';

const OFF = { gone: 'Switched off: gone', failing: 'Switched off: failed', requested: 'Paused' } as const;

const stateOf = ({ status, disabled_reason: reason, failing_since: since }: SerializedWebhook): [State, string] => {
  if (status === 'paused') return ['fault', 'Paused: its key has ended'];
  if (status === 'disabled') return [reason === 'requested' ? 'revoked' : 'fault', OFF[reason ?? 'requested']];
  return since === null ? ['active', 'Active'] : ['fault', `Failing for ${sofar(since)}`];
};

interface WebhookStatusProps {
  readonly webhook: SerializedWebhook;
  readonly isPill?: true;
}

export const WebhookStatus = ({ webhook, isPill }: WebhookStatusProps): JSX.Element => {
  const [state, word] = stateOf(webhook);
  return isPill ? <Pill state={state} word={word} /> : <Status state={state} word={word} />;
};
