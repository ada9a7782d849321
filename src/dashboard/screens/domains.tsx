import type { JSX } from 'preact';
import type { SerializedDomain } from '../../http/schemas/domain.ts';
import { request } from '../data/api.ts';
import { linkTo, navigate } from '../data/location.ts';
import { useList } from '../data/queries.ts';
import { useTimes } from '../data/time.ts';
import { Action } from '../parts/action.tsx';
import { ApiButton } from '../parts/api-button.tsx';
import { AUTHENTICATION, RecordStatus } from '../parts/domain-record.tsx';
import { Status } from '../parts/icons.tsx';
import { Listed } from '../parts/listed.tsx';
import { Empty } from '../parts/states.tsx';

const AddDomain = (): JSX.Element => {
  const add = async (form: FormData): Promise<undefined> => {
    const body = { name: String(form.get('name')).trim() };
    const { id } = await request<SerializedDomain>('/v1/domains', { method: 'POST', body });
    navigate(linkTo(`/domains/${id}`));
  };
  return (
    <Action word="Add a domain" icon="plus" tone="primary" title="Add a domain" act={add}>
      <p class="two">
        Take a name of its own for this mail, such as mail.example.com: what happens to its reputation then does not
        touch the mail of your people. The records to publish come next.
      </p>
      <label class="row">
        Name behind the @
        <input class="inp" name="name" required maxLength={253} placeholder="mail.example.com" spellcheck={false} />
      </label>
    </Action>
  );
};

const Row = ({ domain }: { readonly domain: SerializedDomain }): JSX.Element => {
  const times = useTimes();
  const missing = domain.records.filter(({ status, required }) => required && status === 'pending').length;
  return (
    <a class="kr" href={linkTo(`/domains/${domain.id}`)}>
      <Status state={domain.status} />
      <span class="kn">
        <bdi class="ell b">{domain.name}</bdi>
        <small class="muted">
          {missing === 0 ? 'Nothing to do' : `${missing} required ${missing === 1 ? 'record' : 'records'} to publish`}
        </small>
      </span>
      <span class="states hide-s">
        {AUTHENTICATION.map(({ name, of, required }) => (
          <RecordStatus key={name} state={domain.authentication[of]} required={required} word={name} />
        ))}
      </span>
      <span class="tm">since {times.short(domain.created_at)}</span>
    </a>
  );
};

/** Sender domains, shared by both environments. */
export const Domains = (): JSX.Element => {
  const list = useList<SerializedDomain>({ path: '/v1/domains', query: { limit: 50 } });
  return (
    <>
      <div class="head">
        <div>
          <h1>Domains</h1>
          <p class="sub">What your mail is sent from. Their records prove to receivers that it is yours.</p>
        </div>
        <div class="acts">
          <ApiButton requests={['/v1/domains?limit=50']} />
          <AddDomain />
        </div>
      </div>
      <Listed
        label="Domains"
        list={list}
        look="keys domains"
        keyOf={({ id }) => id}
        render={(domain) => <Row domain={domain} />}
        empty={
          <Empty icon="globe" title="No domains" actions={<AddDomain />}>
            Mail is sent from a domain of yours. Add one, publish its records, and each is checked as you go.
          </Empty>
        }
      />
    </>
  );
};
