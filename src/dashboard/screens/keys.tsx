import type { JSX } from 'preact';
import type { SerializedApiKey } from '../../http/schemas/api-key.ts';
import { linkTo } from '../data/location.ts';
import { useDomainNames } from '../data/names.ts';
import { useList } from '../data/queries.ts';
import { ago } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { Status } from '../parts/icons.tsx';
import { MakeKey } from '../parts/key-dialogs.tsx';
import { Listed } from '../parts/listed.tsx';
import { Empty } from '../parts/states.tsx';

/** All API keys of the environment. A live key lists both environments. */
export const Keys = (): JSX.Element => {
  const list = useList<SerializedApiKey>({ path: '/v1/api-keys', query: { limit: 50 } });
  const domains = useDomainNames();
  return (
    <>
      <div class="head">
        <div>
          <h1>API keys</h1>
          <p class="sub">What your systems send with. Each is bound to one domain.</p>
        </div>
        <div class="acts">
          <ApiButton requests={['/v1/api-keys?limit=50']} />
          <MakeKey />
        </div>
      </div>
      <Listed
        label="API keys"
        list={list}
        look="keys"
        keyOf={({ id }) => id}
        render={(key) => (
          <a class="kr" href={linkTo(`/keys/${key.id}`)}>
            <Status state={key.status} />
            <span class="kn">
              <bdi class="ell b">{key.name}</bdi>
              <small class="muted">
                {domains.get(key.domain_id) ?? key.domain_id}, …{key.last4}
              </small>
            </span>
            <span class="states">
              {key.permissions.map((one) => (
                <span class="tag" key={one}>
                  {one}
                </span>
              ))}
            </span>
            <span class="tag">{key.environment}</span>
            <span class="tm">{key.last_used_at === null ? 'never used' : ago(key.last_used_at)}</span>
          </a>
        )}
        empty={
          <Empty icon="key" title="No keys">
            A system that sends mail needs one: it says who it is, and what it may do.
          </Empty>
        }
      />
    </>
  );
};
