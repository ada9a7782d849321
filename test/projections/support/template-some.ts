import type { CommandContext, Origin } from '../../../src/commands/execute.ts';
import {
  changeDraft,
  createTemplate,
  deleteTemplate,
  publishTemplate,
  rollBackTemplate,
} from '../../../src/commands/template/change-template.ts';
import type { TemplateContent } from '../../../src/domain/template/content.ts';
import { templateIdOf } from '../../../src/domain/template/template.ts';
import { createLiquidRenderer } from '../../../src/lib/templates/templates.ts';

const templateRenderer = createLiquidRenderer();
const CONTENT: TemplateContent = {
  subject: 'Hello',
  html: '<p>Hello</p>',
  format: 'html',
  inlineCss: false,
  variables: [],
  locales: {},
};

/** A random change to one of a few templates. @param below random, below a bound. */
export const templateSome = async (
  context: CommandContext,
  origin: Origin,
  below: (bound: number) => number,
): Promise<void> => {
  const alias = `template-${below(3)}`;
  const about = { name: `Name ${below(9)}`, description: null };
  const existing = { templateId: templateIdOf(origin.organizationId, alias) };
  const publishing = {
    ...context,
    templateRenderer,
    templateCompiler: {
      check: async () => ({ problem: null, uses: [] }),
      compile: async ({ html }: { readonly html: string }) => ({ html }),
      close: async () => undefined,
    },
    htmlChecker: { check: async () => [], close: async () => undefined },
  };
  const actions = [
    () => createTemplate(context, origin, { alias, ...about, content: CONTENT }),
    () => changeDraft(context, origin, { ...existing, about: () => about, content: (before) => before }),
    () => publishTemplate(publishing, origin, existing),
    () => rollBackTemplate(context, origin, { ...existing, version: 1 }),
    () => (below(4) === 0 ? deleteTemplate(context, origin, existing) : Promise.resolve()),
  ];
  await actions[below(actions.length)]?.();
};
