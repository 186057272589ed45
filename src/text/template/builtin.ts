// Chat templates for model files that carry none. Written for leaven after the public descriptions
// of each prompt format; the file's own template always comes first.

export interface BuiltinTemplate {
  /** Name to show to people, such as `chatml`. */
  readonly name: string
  readonly source: string
}

/** What a file without a template tells about itself. */
export interface ModelHints {
  /** `general.architecture`. */
  readonly architecture?: string | undefined
  /** `general.name`, `general.basename` or the file's name. */
  readonly name?: string | undefined
  /** Whether the vocabulary has this text as one token. */
  hasToken(text: string): boolean
}

interface Entry extends BuiltinTemplate {
  /** Tokens that only vocabularies of this format have together. */
  readonly tokens: readonly string[]
  /** Where no token tells, the model's name must match. */
  readonly model?: RegExp
}

/** One header and one end around each message, and the header of the answer. */
function turns(format: {
  begin?: string
  header: (role: string) => string
  end: string
  roles?: Readonly<Record<string, string>>
}): string {
  const names = JSON.stringify(format.roles ?? {})
  return (
    `{{ ${JSON.stringify(format.begin ?? '')} }}{% set names = ${names} %}{% for m in messages %}` +
    `{% set role = names[m.role] or m.role %}` +
    `{{ ${format.header('role')} }}{{ (m.content or '') | trim }}` +
    `{{ ${JSON.stringify(format.end)} }}` +
    `{% endfor %}{% if add_generation_prompt %}` +
    `{% set role = names['assistant'] or 'assistant' %}{{ ${format.header('role')} }}{% endif %}`
  )
}

/** Formats whose system text stands inside the first message of the user. */
function instructions(format: { system: string; user: string; assistant: string }): string {
  return (
    `{{ bos_token }}{% set ns = namespace(system='') %}{% for m in messages %}` +
    `{% set content = m.content or '' %}` +
    `{% if m.role == 'system' %}{% set ns.system = ns.system ~ ${format.system} %}` +
    `{% elif m.role == 'user' %}{{ ${format.user} }}{% set ns.system = '' %}` +
    `{% elif m.role == 'assistant' %}{{ ${format.assistant} }}` +
    `{% else %}{{ raise_exception('this prompt format knows no role ' ~ m.role) }}{% endif %}` +
    `{% endfor %}`
  )
}

/** Most telling first. */
const entries: readonly Entry[] = [
  {
    name: 'llama-3',
    tokens: ['<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>'],
    source: `{{ bos_token }}${turns({
      header: (role) => `'<|start_header_id|>' ~ ${role} ~ '<|end_header_id|>\\n\\n'`,
      end: '<|eot_id|>',
      roles: { tool: 'ipython' },
    })}`,
  },
  {
    name: 'llama-4',
    tokens: ['<|header_start|>', '<|header_end|>', '<|eot|>'],
    source: `{{ bos_token }}${turns({
      header: (role) => `'<|header_start|>' ~ ${role} ~ '<|header_end|>\\n\\n'`,
      end: '<|eot|>',
      roles: { tool: 'ipython' },
    })}`,
  },
  {
    name: 'gpt-oss',
    tokens: ['<|start|>', '<|channel|>', '<|message|>', '<|return|>'],
    source:
      `{% for m in messages %}{{ '<|start|>' ~ m.role }}` +
      `{% if m.role == 'assistant' %}{{ '<|channel|>final' }}{% endif %}` +
      `{{ '<|message|>' ~ (m.content or '') ~ '<|end|>' }}{% endfor %}` +
      `{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}`,
  },
  {
    name: 'phi-4',
    tokens: ['<|im_start|>', '<|im_sep|>', '<|im_end|>'],
    source: turns({
      header: (role) => `'<|im_start|>' ~ ${role} ~ '<|im_sep|>'`,
      end: '<|im_end|>',
    }),
  },
  {
    name: 'chatml',
    tokens: ['<|im_start|>', '<|im_end|>'],
    source: turns({ header: (role) => `'<|im_start|>' ~ ${role} ~ '\\n'`, end: '<|im_end|>\n' }),
  },
  {
    name: 'gemma',
    tokens: ['<start_of_turn>', '<end_of_turn>'],
    source: `${instructions({
      system: `content ~ '\\n\\n'`,
      user: `'<start_of_turn>user\\n' ~ ns.system ~ (content | trim) ~ '<end_of_turn>\\n'`,
      assistant: `'<start_of_turn>model\\n' ~ (content | trim) ~ '<end_of_turn>\\n'`,
    })}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}`,
  },
  {
    name: 'gemma-4',
    tokens: ['<|turn>', '<turn|>'],
    source: `{{ bos_token }}${turns({
      header: (role) => `'<|turn>' ~ ${role} ~ '\\n'`,
      end: '<turn|>\n',
      roles: { assistant: 'model' },
    })}`,
  },
  {
    name: 'command-r',
    tokens: ['<|START_OF_TURN_TOKEN|>', '<|END_OF_TURN_TOKEN|>', '<|CHATBOT_TOKEN|>'],
    source: `{{ bos_token }}${turns({
      header: (role) => `'<|START_OF_TURN_TOKEN|>' ~ ${role}`,
      end: '<|END_OF_TURN_TOKEN|>',
      roles: {
        system: '<|SYSTEM_TOKEN|>',
        user: '<|USER_TOKEN|>',
        assistant: '<|CHATBOT_TOKEN|>',
        tool: '<|SYSTEM_TOKEN|>',
      },
    })}`,
  },
  {
    name: 'granite',
    tokens: ['<|start_of_role|>', '<|end_of_role|>'],
    source: turns({
      header: (role) => `'<|start_of_role|>' ~ ${role} ~ '<|end_of_role|>'`,
      end: '<|end_of_text|>\n',
      roles: { tool: 'tool_response' },
    }),
  },
  {
    name: 'deepseek',
    tokens: ['<｜User｜>', '<｜Assistant｜>'],
    source: `${instructions({
      system: `content ~ '\\n\\n'`,
      user: `ns.system ~ '<｜User｜>' ~ content`,
      assistant: `'<｜Assistant｜>' ~ content ~ '<｜end▁of▁sentence｜>'`,
    })}{% if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %}`,
  },
  {
    name: 'glm-4',
    tokens: ['[gMASK]', '<sop>', '<|observation|>'],
    source: turns({
      begin: '[gMASK]<sop>',
      header: (role) => `'<|' ~ ${role} ~ '|>\\n'`,
      end: '',
      roles: { tool: 'observation' },
    }),
  },
  {
    name: 'phi-3',
    tokens: ['<|user|>', '<|assistant|>', '<|end|>'],
    source: turns({ header: (role) => `'<|' ~ ${role} ~ '|>\\n'`, end: '<|end|>\n' }),
  },
  {
    name: 'mistral',
    tokens: ['[INST]', '[/INST]'],
    source: instructions({
      system: `content ~ '\\n\\n'`,
      user: `'[INST] ' ~ ns.system ~ content ~ '[/INST]'`,
      assistant: `' ' ~ (content | trim) ~ eos_token`,
    }),
  },
  {
    name: 'llama-2',
    tokens: [],
    model: /llama-?2.*(chat|instruct)|mistral.*instruct|mixtral.*instruct|codellama.*instruct/i,
    source: instructions({
      system: `'<<SYS>>\\n' ~ content ~ '\\n<</SYS>>\\n\\n'`,
      user: `'[INST] ' ~ ns.system ~ (content | trim) ~ ' [/INST]'`,
      assistant: `' ' ~ (content | trim) ~ ' ' ~ eos_token ~ bos_token`,
    }),
  },
  {
    name: 'zephyr',
    tokens: [],
    model: /zephyr|tinyllama.*chat|stablelm.*(chat|zephyr)/i,
    source: turns({ header: (role) => `'<|' ~ ${role} ~ '|>\\n'`, end: '</s>\n' }),
  },
  {
    name: 'vicuna',
    tokens: [],
    model: /vicuna|wizardlm/i,
    source: `${instructions({
      system: `content ~ ' '`,
      user: `ns.system ~ 'USER: ' ~ (content | trim) ~ ' '`,
      assistant: `'ASSISTANT: ' ~ (content | trim) ~ eos_token`,
    })}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}`,
  },
]

/**
 * The template for a file without one: the format whose tokens its vocabulary has, or else the one
 * its name speaks of. Undefined for models that are not known to chat: ask for a template then.
 *
 * ```ts
 * const builtin = builtinTemplate({ name: 'zephyr-7b', hasToken: (text) => vocabulary.has(text) })
 * ```
 */
export function builtinTemplate(hints: ModelHints): BuiltinTemplate | undefined {
  const byTokens = entries.find(
    ({ tokens }) => tokens.length > 0 && tokens.every((token) => hints.hasToken(token)),
  )
  const name = `${hints.name ?? ''} ${hints.architecture ?? ''}`
  const found = byTokens ?? entries.find(({ model }) => model?.test(name))
  return found && { name: found.name, source: found.source }
}

/** A built-in template by its name, for users who ask for one. */
export function builtinByName(name: string): BuiltinTemplate | undefined {
  const found = entries.find((entry) => entry.name === name)
  return found && { name: found.name, source: found.source }
}

/** Names that `builtinByName` knows. */
export const builtinNames: readonly string[] = entries.map(({ name }) => name)
