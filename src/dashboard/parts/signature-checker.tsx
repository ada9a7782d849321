import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ShownWebhookDelivery } from '../../http/schemas/webhook-delivery.ts';
import { checkSignature, type Verdict } from '../data/webhook-signature.ts';
import { Notice } from './states.tsx';

/** Explains why a receiver rejects a webhook signature. All input stays in the browser. */
export const SignatureChecker = ({ delivery }: { readonly delivery: ShownWebhookDelivery }): JSX.Element => {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const headers = delivery.attempts.at(-1)?.request.headers ?? {};
  const check = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const field = (name: string): string => String(form.get(name) ?? '');
    setVerdict(
      await checkSignature({
        secret: field('secret'),
        id: field('id'),
        timestamp: field('timestamp'),
        signature: field('signature'),
        body: field('body').replaceAll('\r\n', '\n'),
      }),
    );
  };
  return (
    <form class="checker" onSubmit={(event) => void check(event)}>
      <p class="muted">Enter the request that your receiver got and its secret. Both stay in this browser.</p>
      <label class="row">
        Secret
        <input class="inp" name="secret" type="password" required autocomplete="off" placeholder="whsec_…" />
      </label>
      <label class="row">
        webhook-signature
        <input class="inp" name="signature" required autocomplete="off" spellcheck={false} placeholder="v1,…" />
      </label>
      <div class="pair">
        <label class="row">
          webhook-id
          <input class="inp" name="id" required defaultValue={delivery.event_id} spellcheck={false} />
        </label>
        <label class="row">
          webhook-timestamp
          <input class="inp" name="timestamp" required defaultValue={headers['webhook-timestamp'] ?? ''} />
        </label>
      </div>
      <label class="row">
        Body, as it came
        <textarea class="inp" name="body" rows={5} spellcheck={false} defaultValue={delivery.body} />
      </label>
      <button type="submit" class="btn primary">
        Check
      </button>
      {verdict !== null && (
        <Notice tone={verdict.isRight ? 'ok' : 'bad'} state={verdict.isRight ? 'active' : 'fault'}>
          {verdict.text}
        </Notice>
      )}
    </form>
  );
};
