import type { JSX } from 'preact';
import type { SerializedTemplate } from '../../http/schemas/template.ts';
import { useList } from '../data/queries.ts';
import { ago } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { Status } from '../parts/icons.tsx';
import { Listed } from '../parts/listed.tsx';
import { Empty } from '../parts/states.tsx';
import { MakeTemplate } from '../parts/template-actions.tsx';
import { templateLink } from '../parts/template-source.tsx';

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
          <p class="sub">Subject and text of mail, with places for values. Sends name one instead of a text.</p>
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
            Write a template here, try it with examples and publish it as a version. You can roll back at any time.
            Texts can then change without a new release of your software.
          </Empty>
        }
      />
    </>
  );
};
