import type { JSX } from 'preact';
import type { SerializedSentMessage } from '../../http/resources/messages/sent-message.ts';
import type { SerializedTemplate, SerializedWholeTemplate } from '../../http/resources/templates/template.ts';
import { Action, type Outcome } from '../components/action.tsx';
import { Status } from '../components/icons.tsx';
import { ApiButton, Listed } from '../components/screen.tsx';
import { Empty } from '../components/states.tsx';
import { request } from '../data/api.ts';
import { linkTo, navigate } from '../data/location.ts';
import { removeResource, useList } from '../data/queries.ts';
import { ago } from '../data/time.ts';
import type { Draft } from './preview.tsx';

/** Link to a template's own screen. */
export const templateLink = (id: string, parameters: Readonly<Record<string, string>> = {}): string =>
  linkTo(`/templates/${id}`, parameters);

const STARTER = {
  subject: 'Hello {{ name }}',
  html: '<h1>Hello {{ name }}</h1>\n<p>This is the text of your message.</p>\n',
  variables: [{ name: 'name', type: 'string', required: true, example: 'Ann' }],
};

/** Derives an alias from a display name. */
const aliasOf = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 64);

export const MakeTemplate = (): JSX.Element => {
  const make = async (form: FormData): Promise<undefined> => {
    const name = String(form.get('name')).trim();
    const alias = String(form.get('alias')).trim() || aliasOf(name);
    const body = { ...STARTER, name, alias, format: form.get('format') };
    const { id } = await request<SerializedWholeTemplate>('/v1/templates', { method: 'POST', body });
    navigate(linkTo(`/templates/${id}`));
  };
  return (
    <Action
      word="Create a template"
      operation="POST /v1/templates"
      icon="plus"
      tone="primary"
      title="Create a template"
      act={make}
    >
      <label class="row">
        Name
        <input class="inp" name="name" required maxLength={200} placeholder="Order shipped" />
      </label>
      <label class="row">
        Alias, used in requests
        <input
          class="inp mono"
          name="alias"
          maxLength={64}
          pattern="[a-z0-9\-]*"
          placeholder="order-shipped, or derived from the name"
          spellcheck={false}
        />
      </label>
      <label class="row">
        Format
        <select class="inp" name="format">
          <option value="html">HTML</option>
          <option value="mjml">MJML, compiled when you publish</option>
        </select>
      </label>
    </Action>
  );
};

interface DraftProps {
  readonly draft: Draft;
  readonly template: SerializedWholeTemplate;
}

interface PublishProps extends DraftProps {
  /** Number of the version that will be published. */
  readonly number: number;
}

export const PublishTemplate = ({ draft, template, number }: PublishProps): JSX.Element => {
  const publish = async (): Promise<undefined> => {
    await draft.settle();
    await request(`/v1/templates/${template.id}/publish`, { method: 'POST' });
    await draft.reload();
  };
  return (
    <Action
      word={`Publish version ${number}`}
      operation="POST /v1/templates/:id/publish"
      icon="check"
      tone="primary"
      title={`Publish version ${number} of ${template.name}?`}
      act={publish}
    >
      <p class="two">
        {template.published_version === null
          ? 'You can then send messages with this template.'
          : `Requests without a version use it immediately, instead of version ${template.published_version}. You can roll back at any time.`}
      </p>
    </Action>
  );
};

export const TestTemplate = ({ draft, template, version }: DraftProps & { readonly version: number | null }) => {
  const send = async (form: FormData): Promise<Outcome> => {
    await draft.settle();
    const to = String(form.get('to'))
      .split(',')
      .map((one) => one.trim());
    const body = version === null ? { to } : { to, version };
    const sent = await request<SerializedSentMessage>(`/v1/templates/${template.id}/test-send`, {
      method: 'POST',
      body,
    });
    const shown = (
      <p>
        The test is on its way.{' '}
        <a class="lnk" href={linkTo(`/messages/${sent.id}`)}>
          View message
        </a>
      </p>
    );
    return { shown, word: 'Close' };
  };
  return (
    <Action
      word="Send a test"
      operation="POST /v1/templates/:id/test-send"
      icon="send"
      tone="plain"
      title={`Send a test of ${template.name}`}
      act={send}
    >
      <p class="two">
        {version === null ? 'The draft' : `Version ${version}`} is sent with its example values, and [Test] before the
        subject. Tests are billed, but not counted in statistics.
      </p>
      <label class="row">
        To
        <input class="inp" name="to" required placeholder="you@example.com, at most ten" spellcheck={false} />
      </label>
    </Action>
  );
};

export const RollBackTemplate = ({ draft, template, version }: DraftProps & { readonly version: number }) => {
  const rollBack = async (): Promise<undefined> => {
    await request(`/v1/templates/${template.id}/rollback`, { method: 'POST', body: { version } });
    await draft.reload();
  };
  return (
    <Action
      word={`Roll back to version ${version}`}
      operation="POST /v1/templates/:id/rollback"
      icon="rotate"
      tone="primary"
      title={`Roll back to version ${version}?`}
      act={rollBack}
    >
      <p class="two">
        Requests without a version use it immediately, instead of version {template.published_version}. The draft does
        not change.
      </p>
    </Action>
  );
};

export const DeleteTemplate = ({ draft, template }: DraftProps): JSX.Element => {
  const remove = async (): Promise<undefined> => {
    await removeResource(`/v1/templates/${template.id}`);
    draft.discard(); // leaving the screen would save it
    navigate(linkTo('/templates'), 'replace');
  };
  return (
    <Action
      word="Delete"
      operation="DELETE /v1/templates/:id"
      icon="trash"
      tone="danger"
      title={`Delete ${template.name}?`}
      typed={template.alias}
      act={remove}
    >
      <p class="two">Requests that use this template will fail. Messages already sent with it are kept.</p>
    </Action>
  );
};

/** Adds a language, which starts as a copy. */
export const AddLanguage = ({ draft }: Pick<DraftProps, 'draft'>): JSX.Element => {
  const add = async (form: FormData): Promise<undefined> => {
    const { content } = draft;
    if (content === null) return;
    const { subject, html, text, preheader } = content;
    const locale = String(form.get('locale'));
    draft.change({ locales: { [locale]: { subject, html, text, preheader }, ...content.locales } });
    await draft.settle();
  };
  return (
    <Action
      word="Add a language"
      operation="PATCH /v1/templates/:id"
      icon="globe"
      tone="plain"
      isSmall
      title="Add a language"
      act={add}
    >
      <p class="two">
        It starts as a copy of the default. It is used for requests in this language, or in one that falls back to it.
      </p>
      <label class="row">
        Language tag
        <input class="inp" name="locale" required placeholder="de, or de-AT" pattern="[a-z]{2,3}(-[A-Za-z0-9]+)*" />
      </label>
    </Action>
  );
};

const Row = ({ template }: { readonly template: SerializedTemplate }): JSX.Element => {
  const { published_version: live, has_draft: hasDraft } = template;
  return (
    <a class="kr" href={templateLink(template.id)}>
      <Status state={live === null ? 'pending' : 'active'} word={live === null ? 'Draft' : `Version ${live}`} />
      <span class="kn">
        <bdi class="ell b">{template.name}</bdi>
        <small class="muted ell">
          <code>{template.alias}</code>
          {template.description !== null && (
            <>
              {' '}
              <bdi>{template.description}</bdi>
            </>
          )}
        </small>
      </span>
      <span class="states">{live !== null && hasDraft && <span class="tag">draft</span>}</span>
      <span class="tm">changed {ago(template.updated_at)}</span>
    </a>
  );
};

/** Templates, shared by both environments. */
export const Templates = (): JSX.Element => {
  const list = useList<SerializedTemplate>({ path: '/v1/templates', query: { limit: 50 } });
  return (
    <>
      <div class="head">
        <div>
          <h1>Templates</h1>
          <p class="sub">
            Reusable subjects and texts with variables. Requests refer to a template instead of containing the text.
          </p>
        </div>
        <div class="acts">
          <ApiButton requests={['/v1/templates?limit=50']} />
          <MakeTemplate />
        </div>
      </div>
      <Listed
        label="Templates"
        list={list}
        look="keys templates"
        keyOf={({ id }) => id}
        render={(template) => <Row template={template} />}
        empty={
          <Empty icon="layout" title="No templates" actions={<MakeTemplate />}>
            Write a template here, try it with examples and publish it as a version. You can roll back at any time. You
            can then change texts without a new release of your software.
          </Empty>
        }
      />
    </>
  );
};
