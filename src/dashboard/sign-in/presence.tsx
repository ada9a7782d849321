import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedPasskey } from '../../http/resources/members/passkeys.ts';
import { Action } from '../components/action.tsx';
import { CopyField } from '../components/facts.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { ApiFault, presenceAsked, request } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { linkTo, navigate } from '../data/location.ts';
import { useRead } from '../data/queries.ts';
import { provePresence } from '../data/session.ts';
import { useStore } from '../data/store.ts';
import { useTimes } from '../data/time.ts';

/** Passkey sign-in, the offer to create one, and the member's list. */

const loaded = () => import('./webauthn.ts');

/** True if this browser supports passkeys at this address; false until that is known. */
const usePossible = (): boolean => {
  const [isPossible, setPossible] = useState(false);
  useEffect(() => void loaded().then(({ arePossible }) => setPossible(arePossible())), []);
  return isPossible;
};

/** null if the member cancelled, which is not a problem. */
const passkeyProblemOf = (error: unknown): string | null => {
  if (error instanceof ApiFault && error.code === 'passkey_invalid')
    return 'This passkey was removed, or its owner is no longer a member. Use another passkey or a link.';
  if (error instanceof Error && (error.name === 'NotAllowedError' || error.name === 'AbortError')) return null;
  if (error instanceof Error && error.name === 'InvalidStateError') return 'You already have a passkey on this device.';
  return `Something went wrong: ${String(error instanceof Error ? error.message : error)}`;
};

/** A button that shows its error. */
const PasskeyButton = ({
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
      setProblem(passkeyProblemOf(error));
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
      <p class="or cells quiet">or</p>
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
        <h1>Sign in faster next time</h1>
        <p class="sub">With a passkey, you sign in with your fingerprint, face or PIN instead of a link.</p>
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
        <Action
          word="Remove"
          operation="DELETE /v1/passkeys/:passkey"
          icon="forbid"
          tone="danger"
          title="Remove this passkey?"
          typed="remove passkey"
          isSmall
          act={remove}
        >
          <p class="two">
            You can no longer sign in with it. Open sessions continue. Delete it on your device as well.
          </p>
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
          With a passkey, you sign in with your fingerprint, face or PIN instead of a link.
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
          You cannot add a passkey here. Passkeys need a host name, HTTPS or localhost, and a browser that supports
          them.
        </div>
      )}
    </>
  );
};

/**
 * Asks the member to prove their identity before an action that an unattended browser must not allow. The action then
 * continues.
 */

const TOKEN = /ob_link_\w+/;

/** True if the member has passkeys that this browser can use; null: not yet known. */
const useHasPasskeys = (): boolean | null => {
  const isPossible = usePossible();
  const [has, setHas] = useState<boolean | null>(null);
  useEffect(() => {
    const find = async (): Promise<void> => setHas((await (await loaded()).list()).data.length > 0);
    void find().catch(() => setHas(false));
  }, []);
  return has === null ? null : has && isPossible;
};

const linkCommand = (memberId: string, organizationId: string): string =>
  `outbox members link --member ${memberId} --organization ${organizationId}`;

const problemOf = (error: unknown): string =>
  error instanceof ApiFault && error.code === 'sign_in_link_invalid'
    ? 'This link was already used, has expired, or belongs to another member. Request a new one.'
    : `Something went wrong: ${String(error instanceof Error ? error.message : error)}`;

interface ByLinkProps {
  /** @throws {ApiFault} */
  prove(token: string): Promise<void>;
  done(): void;
}

/** Takes a pasted sign-in link. */
export const ByLink = ({ prove: spend, done }: ByLinkProps): JSX.Element => {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const prove = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const token = TOKEN.exec(String(new FormData(event.currentTarget).get('link')))?.[0];
    if (token === undefined) return setProblem('This is not a sign-in link.');
    setBusy(true);
    try {
      await spend(token);
      done();
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
  };
  const own = useStore(session);
  return (
    <form class="prove" onSubmit={(event) => void prove(event)}>
      <label class="row">
        New sign-in link
        <input class="inp mono" name="link" autocomplete="off" spellcheck={false} required maxLength={2000} />
      </label>
      <p class="muted small">
        An owner can create one for you under Settings. The operator can print one with this command:
      </p>
      {own?.member && <CopyField text={linkCommand(own.member.id, own.organization.id)} name="the command" />}
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="btn" disabled={isBusy}>
        Use the link
      </button>
    </form>
  );
};

const proveByLink = (token: string): Promise<void> => provePresence({ token });

const Ways = ({ done }: { done(): void }): JSX.Element | null => {
  const hasPasskeys = useHasPasskeys();
  if (hasPasskeys === null) return null;
  if (!hasPasskeys) return <ByLink prove={proveByLink} done={done} />;
  const prove = async (): Promise<void> => {
    await (await loaded()).prove();
    done();
  };
  return (
    <>
      <PasskeyButton word="Use a passkey" tone="primary" act={prove} />
      <details>
        <summary>Without a passkey</summary>
        <ByLink prove={proveByLink} done={done} />
      </details>
    </>
  );
};

/** Opens automatically when a request needs proof of presence. */
export const PresenceDialog = (): JSX.Element => {
  const asked = useStore(presenceAsked);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (asked !== null) dialog.current?.showModal();
  }, [asked]);
  const done = (): void => {
    asked?.answer(true);
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} class="dlg" aria-label="Confirm it’s you" onClose={() => asked?.answer(false)}>
      {asked !== null && (
        <>
          <h2>Confirm it’s you</h2>
          <p class="two">
            This action is sensitive or cannot be undone, and you last confirmed your identity more than 10 minutes ago.
            Confirm it again to continue.
          </p>
          <div class="prove">
            <Ways done={done} />
          </div>
          <div class="acts">
            <button type="button" class="btn" onClick={() => dialog.current?.close()}>
              Not now
            </button>
          </div>
        </>
      )}
    </dialog>
  );
};
