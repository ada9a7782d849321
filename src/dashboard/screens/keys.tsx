import type { JSX } from 'preact';
import type { SerializedApiKey } from '../../http/schemas/api-key.ts';
import { linkTo } from '../data/location.ts';
import { useDomainNames } from '../data/names.ts';
import { useList } from '../data/queries.ts';
import { ago } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { Status } from '../parts/icons.tsx';
import { MakeKey } from '../parts/key-dialogs.tsx';
import { Empty, Fault, Skeleton } from '../parts/states.tsx';

/** All API keys of the environment; with a live key those of both. */
export const Keys = (): JSX.Element => {
  const list = useList<SerializedApiKey>({ path: '/v1/api-keys', query: { limit: 50 } });
  const domains = useDomainNames();
  const keys = list.data?.pages.flatMap(({ data }) => data) ?? [];
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
      {list.error !== null && <Fault error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && list.error === null && <Skeleton />}
      {list.data !== undefined && keys.length === 0 && (
        <Empty icon="key" title="No keys">
          A system that sends mail needs one: it says who it is, and what it may do.
        </Empty>
      )}
      {keys.length > 0 && (
        <ul class="list keys" aria-label="API keys">
          {keys.map((key) => (
            <li key={key.id}>
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
            </li>
          ))}
        </ul>
      )}
      {list.hasNextPage && (
        <button type="button" class="btn" onClick={() => void list.fetchNextPage()}>
          Show more
        </button>
      )}
    </>
  );
};
