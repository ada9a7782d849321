import type { JSX } from 'preact';
import type { SerializedWebhook } from '../../http/schemas/webhook.ts';
import { linkTo } from '../data/location.ts';
import { useList } from '../data/queries.ts';
import { ago } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { Listed } from '../parts/listed.tsx';
import { Empty } from '../parts/states.tsx';
import { MakeWebhook } from '../parts/webhook-dialogs.tsx';
import { WebhookStatus } from '../parts/webhook-status.tsx';

const Row = ({ webhook }: { readonly webhook: SerializedWebhook }): JSX.Element => (
  <a class="kr" href={linkTo(`/webhooks/${webhook.id}`)}>
    <WebhookStatus webhook={webhook} />
    <span class="kn">
      <bdi class="ell b">{webhook.url}</bdi>
      <bdi class="muted ell">{webhook.description ?? 'no note'}</bdi>
    </span>
    <span class="states">
      {webhook.events.map((one) => (
        <span class="tag" key={one}>
          {one}
        </span>
      ))}
    </span>
    <span class="tm">added {ago(webhook.created_at)}</span>
  </a>
);

/** Webhook endpoints of this environment. */
export const Webhooks = (): JSX.Element => {
  const list = useList<SerializedWebhook>({ path: '/v1/webhooks', query: { limit: 50 } });
  return (
    <>
      <div class="head">
        <div>
          <h1>Webhooks</h1>
          <p class="sub">Signed events for your systems, retried until they are accepted</p>
        </div>
        <div class="acts">
          <ApiButton requests={['/v1/webhooks?limit=50']} />
          <MakeWebhook />
        </div>
      </div>
      <Listed
        label="Webhooks"
        list={list}
        look="keys hooks"
        keyOf={({ id }) => id}
        render={(webhook) => <Row webhook={webhook} />}
        empty={
          <Empty icon="link" title="No webhooks">
            A webhook posts each event to an address of yours within a second: a delivery, a bounce, an unsubscription.
            What your system does not take is tried again for days.
          </Empty>
        }
      />
    </>
  );
};
