import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedPasskey } from '../../http/resources/members/passkeys.ts';
import { Action } from '../components/action.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { ApiFault, request } from '../data/api.ts';
import { linkTo, navigate } from '../data/location.ts';
import { useRead } from '../data/queries.ts';
import { useTimes } from '../data/time.ts';

/** Passkey sign-in, the offer to create one, and the member's list. */

export const loaded = () => import('./webauthn.ts');

/** True if this browser supports passkeys at this address; false until that is known. */
export const usePossible = (): boolean => {
  const [isPossible, setPossible] = useState(false);
  useEffect(() => void loaded().then(({ arePossible }) => setPossible(arePossible())), []);
  return isPossible;
};

/** null if the member cancelled, which is not a problem. */
const problemOf = (error: unknown): string | null => {
  if (error instanceof ApiFault && error.code === 'passkey_invalid')
    return 'This passkey was removed, or its owner is no longer a member. Use another passkey or a link.';
  if (error instanceof Error && (error.name === 'NotAllowedError' || error.name === 'AbortError')) return null;
  if (error instanceof Error && error.name === 'InvalidStateError')
    return 'This device has a passkey of yours already.';
  return `It did not succeed: ${String(error instanceof Error ? error.message : error)}`;
};

/** A button that shows its error. */
export const PasskeyButton = ({
  word,
  tone = '',
  act,
}: {
  readonly word: string;
  readonly tone?: string;
  act(): Promise<void>;
}): JSX.Element => {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const press = async (): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      await act();
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
  };
  return (
    <>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="button" class={`btn ${tone}`} disabled={isBusy} onClick={() => void press()}>
        {word}
      </button>
    </>
  );
};

const goOn = (): void => navigate(linkTo(''), 'replace');

/** For the sign-in page. */
export const SignInByPasskey = (): JSX.Element | null => {
  const isPossible = usePossible();
  if (!isPossible) return null;
  return (
    <>
      <PasskeyButton word="Sign in with a passkey" tone="primary" act={async () => (await loaded()).signIn()} />
      <p class="or">or</p>
    </>
  );
};

/** Offers a passkey after the first sign-in. Continues at once if the member has one or the browser supports none. */
export const OfferPasskey = (): JSX.Element | null => {
  const [isOffered, setOffered] = useState(false);
  useEffect(() => {
    const decide = async (): Promise<void> => {
      const { arePossible, list } = await loaded();
      if (arePossible() && (await list()).data.length === 0) setOffered(true);
      else goOn();
    };
    void decide().catch(goOn);
  }, []);
  if (!isOffered) return null;
  const add = async (): Promise<void> => {
    await (await loaded()).add();
    goOn();
  };
  return (
    <main class="si">
      <div class="box">
        <h1>Sign in faster the next time</h1>
        <p class="sub">With a passkey you need no link: a fingerprint, your face or a PIN does.</p>
        <div class="panel">
          <PasskeyButton word="Add a passkey" tone="primary" act={add} />
          <button type="button" class="btn" onClick={goOn}>
            Not now
          </button>
          <p class="small">
            It stays on your devices. The service stores only a public key, which cannot be used to sign in.
          </p>
        </div>
      </div>
    </main>
  );
};

const Row = ({ passkey }: { readonly passkey: SerializedPasskey }): JSX.Element => {
  const times = useTimes();
  const remove = async (): Promise<undefined> =>
    request<undefined>(`/v1/passkeys/${passkey.id}`, { method: 'DELETE', environment: 'live' });
  return (
    <div class="kr">
      <span class="kn">
        <span class="ell b">Passkey of {times.short(passkey.created_at)}</span>
        <small class="muted ell">{passkey.id}</small>
      </span>
      <span class="tag">{passkey.synced ? 'on several devices' : 'on one device'}</span>
      <span class="acts">
        <Action word="Remove" icon="forbid" tone="danger" title="Remove this passkey?" isSmall act={remove}>
          <p class="two">It signs in no more. Open sessions stay. Delete it on your device as well.</p>
        </Action>
      </span>
    </div>
  );
};

/** For the member's settings. */
export const Passkeys = (): JSX.Element => {
  const isPossible = usePossible();
  const { data, error, refetch } = useRead(['/v1/passkeys'], (signal) =>
    request<List<SerializedPasskey>>('/v1/passkeys', { signal, environment: 'live' }),
  );
  const add = async (): Promise<void> => {
    await (await loaded()).add();
    await refetch();
  };
  return (
    <>
      <h2 class="over">Your passkeys</h2>
      {data === undefined &&
        (error === null ? <Skeleton rows={1} /> : <Fault error={error} retry={() => void refetch()} />)}
      {data?.data.length === 0 && (
        <Empty icon="key" title="No passkeys">
          With a passkey you sign in by a fingerprint, your face or a PIN instead of a link.
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <ul class="list keys people" aria-label="Your passkeys">
          {data.data.map((passkey) => (
            <li key={passkey.id}>
              <Row passkey={passkey} />
            </li>
          ))}
        </ul>
      )}
      {isPossible ? (
        <div class="below">
          <PasskeyButton word="Add a passkey" act={add} />
        </div>
      ) : (
        <div class="below muted small">
          None can be made here: passkeys need the name of a host, HTTPS or localhost, and a browser that has them.
        </div>
      )}
    </>
  );
};
