import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedDomain } from '../../http/schemas/domain.ts';
import { request } from '../data/api.ts';
import { type Past, useAsOf } from '../data/as-of.ts';
import { client } from '../data/queries.ts';
import { Fault } from './states.tsx';

const filled = (form: FormData, name: string): string | null => String(form.get(name) ?? '').trim() || null;

/** Tracking settings of a domain, and its branding on recipient pages. */
export const DomainSettings = ({ domain }: { readonly domain: Past<SerializedDomain> }): JSX.Element => {
  const isPast = useAsOf() !== null;
  const [error, setError] = useState<Error | null>(null);
  const [isSaved, setSaved] = useState(false);
  const { tracking, branding } = domain;
  const save = async (form: FormData): Promise<void> => {
    const [name, color, logoUrl] = ['name', 'color', 'logo_url'].map((field) => filled(form, field));
    const body = {
      tracking: { opens: form.has('opens'), clicks: form.has('clicks') },
      branding: name === null && color === null && logoUrl === null ? null : { name, color, logo_url: logoUrl },
    };
    try {
      await request(`/v1/domains/${domain.id}`, { method: 'PATCH', body });
      setError(null);
      setSaved(true);
      await client.invalidateQueries();
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    }
  };
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    void save(new FormData(event.currentTarget));
  };
  return (
    <section class="card">
      <header>
        <h2>Settings</h2>
      </header>
      <form key={domain.as_of?.leaf_index} class="pad form" onSubmit={submit} onInput={() => setSaved(false)}>
        <label class="opt">
          <input type="checkbox" name="opens" defaultChecked={tracking.opens} />
          <span>
            Count opens
            <small>adds an invisible image to the HTML; a message can override this</small>
          </span>
        </label>
        <label class="opt">
          <input type="checkbox" name="clicks" defaultChecked={tracking.clicks} />
          <span>
            Count clicks
            <small>links lead over this service; a message can say otherwise</small>
          </span>
        </label>
        <div class="fields">
          <label class="row">
            Name on pages for recipients
            <input
              class="inp"
              name="name"
              maxLength={100}
              defaultValue={branding?.name ?? ''}
              placeholder={domain.name}
            />
          </label>
          <label class="row">
            Colour
            <input class="inp" name="color" maxLength={7} defaultValue={branding?.color ?? ''} placeholder="#1a56b0" />
          </label>
          <label class="row">
            Logo
            <input
              class="inp"
              name="logo_url"
              type="url"
              defaultValue={branding?.logo_url ?? ''}
              placeholder="https://"
            />
          </label>
        </div>
        {error !== null && <Fault error={error} />}
        <div class="formend">
          <span class="muted" role="status">
            {isSaved ? 'Saved: for mail that is accepted from now on' : ''}
          </span>
          <button type="submit" class="btn" disabled={isPast}>
            Save
          </button>
        </div>
      </form>
    </section>
  );
};
