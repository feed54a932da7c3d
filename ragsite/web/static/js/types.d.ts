// The site's API as its pages read it: what chat/api/serializers.py, chat/api/event_schema.py and
// retrieval/api/serializers.py write, and what the pages' views leave in the page ("boot"). For the type check alone:
// no page loads this file.

declare namespace Api {
  type Id = string; // a UUID
  type Time = string; // ISO 8601
  type Thumb = "up" | "down";

  interface Page<Row> { count: number; next: string | null; previous: string | null; results: Row[] }
  interface ErrorBody { error?: { code: string; message: string; fields?: Record<string, unknown> } }

  // ------------------------------------------------------------------------------------------- answers
  interface Rating { score: number; thumb: Thumb | null; tags: string[]; comment: string }
  interface RatingInput { score?: number; thumb?: Thumb; tags?: string[]; comment?: string }

  type Scores = Partial<Record<"dense" | "bm25" | "fused" | "rerank" | "boost" | "final", number | null>>;

  /** Left, top, right, bottom as shares of the page, 0..1. */
  type Sides = number[];
  /** Where a cited sentence stands: text[start:end] of the source; boxes: on the page of a PDF, where that is known. */
  interface Span { page: number | null; boxes: Sides[]; start: number; end: number }

  interface Source {
    marker: number; kind: "document" | "web"; document_id: Id | null; chunk_id: string; title: string;
    page: number | null; heading: string; file_name: string; url: string; published: string; text: string;
    scores: Scores; cited: boolean; spans?: Span[];
    added_at?: Time | null; version?: number | null; replaced?: boolean; policy_year?: number | null; review_due?: string | null; overdue?: boolean; // of its document, now
    rating?: Rating | null; // neither is in events
    moved?: Thumb | null;
  }

  interface Step {
    seq: number; name: string; status: "ok" | "skipped" | "degraded" | "failed"; summary: string;
    started_ms: number; duration_ms: number;
    detail: Record<string, any>; // each step's own
  }
  interface PlanTask {
    id: string; type: string; state: string; input?: string; depends_on?: string[]; note?: string; duration_ms?: number | null;
  }
  interface ModelCall {
    kind: string; model: string; prompt?: string; started_ms: number; ended_ms: number | null; prompt_tokens?: number;
    completion_tokens?: number; error?: string;
  }
  interface Grade {
    title: string; file_name: string; heading: string; page: number | null; text: string; relevant: boolean;
    confidence: number; reason: string; by_model: boolean; graded_before: boolean;
  }

  interface Usage {
    llm_calls?: number; llm_rounds?: number; prompt_tokens?: number; completion_tokens?: number;
    first_token_ms?: number | null; total_ms?: number;
  }
  /** A sentence of the answer, answer[start:end]; evidence: what of the source `marker` bears it out, text[start:end]. */
  interface Statement {
    sentence: string; start: number; end: number; supported: boolean | null;
    evidence: { marker: number; start: number; end: number }[];
  }
  interface Clarification { question?: string; options?: string[] }

  interface Question {
    role: "user"; session_id: Id; message_id: Id; status: string; created_at: Time; text: string; superseded: boolean; versions: Id[];
  }
  interface Answer {
    role: "assistant"; session_id: Id; message_id: Id; reply_to: Id | null;
    status: "streaming" | "complete" | "cut" | "stopped" | "interrupted" | "failed"; created_at: Time;
    status_reason: string; superseded: boolean; source_changed_at?: Time | null; being_read: number; versions: Id[];
    decision: "ANSWER" | "CLARIFY" | "NO_ANSWER" | null; reason: string; workflow: string; model: string;
    answer: string; html: string; clarification: Clarification | null; sources: Source[]; overdue_sources?: number[]; decision_path: Step[];
    grounding: Statement[]; support: "full" | "partly" | "none" | null; usage: Usage; curated?: { id: Id; by: string; on: string } | null;
    written_by?: { by: string; on: string } | null; sent_request?: RequestState | null;
    found: string[]; follow_ups: string[]; offers: ("count" | "count_form" | "ask_owner" | "add_documents")[]; degraded: { step: string; reason: string }[]; error: { code?: string; content?: string } | null; rating: Rating | null;
  }
  type Message = Question | Answer;
  /** What is to be otherwise where an answer is written again. */
  interface Again { options?: Options; task?: "count"; assistant?: string }
  type RequestState = "open" | "answered" | "declined" | "withdrawn";
  interface Addressee { sent_to: "collection" | "curators"; collection: string | null; owner: string | null; others: number; not_notified?: number }
  /** A question that was sent to a person. */
  interface GapRequest {
    id: Id; state: RequestState; collection: string | null; note: string; sent_at: Time; ended_at: Time | null; ended_by: string | null; reply: string;
  }
  interface SentRequest { request: GapRequest | null; to: Addressee[] }
  /** assistant: {} where there is none. */
  interface Session { id: Id; title: string; found?: string; collections: string[]; assistant: { id?: Id; name?: string }; temporary: boolean; expires_at: Time | null; pinned: boolean; archived: boolean; folder: string; shared: string[]; created_at: Time; updated_at: Time }
  interface Folder { name: string; session_count: number }
  interface Share { scope: "site" | "link"; url: string; created_at: Time; expires_at: Time | null }
  interface Shares { shares: Share[]; links_allowed: boolean }

  // ------------------------------------------------------------------------------------------- events
  interface Numbered { seq: number; message_id: Id; done?: boolean }
  type Event =
    | Numbered & { type: "started"; session_id: Id; workflow: string; user_message_id: Id }
    | Numbered & { type: "reasoning"; content: string; step?: Step }
    | Numbered & { type: "tool_call"; content: string; tool: string; step?: Step }
    | Numbered & { type: "sources"; sources: Source[] }
    | Numbered & { type: "chunk"; content: string }
    | Numbered & { type: "withdrawn" }
    | Numbered & { type: "clarify" } & Clarification
    | Numbered & { type: "done"; message: Answer }
    | { type: "follow_ups"; message_id: Id; follow_ups: string[]; seq?: undefined; done?: undefined }
    | ErrorEvent;
  /** Of an answer, or of what was asked: then it has neither number nor message. */
  interface ErrorEvent {
    type: "error"; code: string; content: string; done?: boolean; seq?: number; message_id?: Id | null; message?: Answer;
  }

  interface Allowance { period: "day" | "month"; whose: "person" | "site"; used: number; limit: number | null; left: number | null; starts_again_at: string }
  interface UsageOfCaller { allowances: Allowance[] }
  interface Options { web_search?: boolean; rewrite?: boolean; hyde?: boolean; rerank?: boolean; judge?: boolean; route?: boolean }
  interface Filters { department?: string; doc_type?: string; policy_year?: number; tags?: string[] }
  interface Counted<Value> { value: Value; count: number }
  interface FilterValues {
    department: Counted<string>[]; doc_type: Counted<string>[]; policy_year: Counted<number>[]; tags: Counted<string>[];
  }
  /** What a question sends. The self-corrective page's has fields of its own. */
  interface Ask {
    message: string; session_id: Id | null; assistant?: string; workflow?: string; model?: string; collections?: string[]; options?: Options; filters?: Filters;
    task?: Task; documents?: Id[]; offered?: "follow_up" | "starter"; temporary?: boolean;
  }
  interface Assistant {
    id: Id; name: string; address: string; description: string; owner: string | null; instructions: string; collections: string[]; unreadable: number; with_own: boolean;
    workflow: string; options: Options; filters: Filters; model: string; starters: string[]; default: boolean; owned: boolean; version: number;
  }
  type Task = "summarise" | "list" | "compare";
  interface SelfCorrectiveAsk extends Partial<SelfCorrectiveNumbers> {
    query: string; sessionId?: Id; milvusConfig?: { collectionName: string }; forceGenerate?: boolean;
  }
  interface SelfCorrectiveNumbers {
    topK: number; similarityThreshold: number; maxRewriteAttempts: number; gradePassThreshold: number;
  }

  // ------------------------------------------------------------------------------------------- documents
  /** What tells one collection from the others. */
  interface CollectionName { id: Id; name: string; address: string; owner: string | null }
  interface Collection extends CollectionName {
    description: string; visibility: "private" | "shared" | "public"; approved: boolean; searched: boolean; groups: string[];
    document_count: number; embedding_model: string; editable: boolean; owned: boolean; editor_groups: string[]; review_months: number | null;
    people: { username: string; role: "reader" | "editor" }[]; // both are told to its owner alone
  }
  interface Candidate {
    document_id: Id; chunk_id: Id; title: string; page: number | null; heading: string; text: string;
    scores: Record<string, number>; ranks: Record<string, number>;
  }
  interface CountColumns { columns: { name: string; kind: "number" | "date" | "text"; rows: number; documents: number }[]; all: number; complete: boolean }
  interface SearchResult { candidates: Candidate[]; timings_ms: Record<string, number>; degraded: string[] }
  interface BulkResult { id: Id; outcome: "done" | "refused"; code: string; error: string }
  interface NewerVersion { id: Id; title: string; status: string }
  interface Document {
    id: Id; title: string; file_name: string; collection: string; collection_id: Id;
    status: "queued" | "parsing" | "embedding" | "ready" | "failed"; progress: number; error: string; size_bytes: number; media_type: string;
    department: string; doc_type: string; policy_year: number | null; tags: string[]; page_count: number | null;
    chunk_count: number; word_count: number; unread: string[]; editable: boolean; is_sample: boolean; replaces: Id | null; superseded: boolean; newer_version: NewerVersion | null; created_at: Time;
    version: number; review_by: string | null; review_due: string | null; overdue: boolean; reviewed_at: Time | null; // days: YYYY-MM-DD
  }
  interface Attachments { session_id: Id; documents: Document[] }
  interface UploadedDocument { id: Id | null; title: string; file_name: string; status: Document["status"]; outcome: "added" | "unchanged" | "retried" | "refused"; error: string }
  /** Shares of the page, 0..1. */
  /** A chunk in a part; start, end: in the document's text. */
  interface ContentChunk { id: string; seq: number; page: number | null; start: number; end: number; boxes: Sides[] }
  interface DocumentContent {
    part: number; part_count: number; page: number | null; width: number | null; height: number | null; html: string;
    chunks: ContentChunk[]; marks: Sides[]; newer_version: NewerVersion | null;
  }
  interface Chunk {
    id: string; seq: number; text: string; heading: string; page: number | null; page_end: number | null; token_count: number;
  }
  interface Allowance { used: number; allowed: number | null }
  interface DocumentsUsage { documents: Allowance; storage_bytes: Allowance }

  // ------------------------------------------------------------------------------------------- review desk
  interface Review {
    message_id: Id; session_id: Id; created_at: Time; question: string; state: "todo" | "reviewed" | "resolved";
    assignee: string | null; note: string; labels: string[]; reasons: string[]; user: string | null;
  }
  interface DeskEvent { kind: string; by: string; at: Time; detail: { from?: unknown; to?: unknown } }
  interface GivenRating { source: number | null; score: number; tags: string[]; comment: string; user: string | null }
  interface ReviewDetail extends Review {
    message: Answer; earlier: Message[]; ratings: GivenRating[]; history: DeskEvent[]; read_by: DeskEvent[];
    path_deleted: boolean;
    filled_prompts: { step: number; call: number; name: string; text: string | null }[]; passages: Record<string, string>;
  }

  // ------------------------------------------------------------------------------------------- models
  interface ModelServer {
    server: "ollama" | "openai"; ollama_url: string; openai_url: string; has_key: boolean; chat_models: string[];
    fast_model: string; embed_model: string; offline_forced: boolean; locked: string[];
  }
  interface FoundModel { name: string; can_chat: boolean; can_embed: boolean; can_think: boolean; context_length: number }
  interface ModelServerTest {
    label: string; address: string; answered: boolean; list_ms: number | null; models: FoundModel[]; called: string;
    call_ms: number | null; ignoring_format: string[]; reason: string;
  }

  interface ApartCollection {
    id: Id; address: string; model: string; documents: number; passages: number; done: number | null; total: number | null; error: string;
  }
  interface Embedding { model: string | null; reason: string; passages: number; estimated_s: number | null; collections: ApartCollection[] }
  interface Samples { there: boolean; left_out: boolean; chosen: boolean; own_documents: number }

  interface Status { chat_models: string[]; chat_model: string; online: boolean; offline_forced: boolean; embed_model: string; reason: string; reading: { total: number; done: number }; index: "ok" | "incomplete" | "away"; index_missing: number }
}

/** What a view leaves in its page as JSON. */
declare namespace Boot {
  interface Graph { nodes: string[]; edges: { source: string; target: string; conditional?: boolean }[] }

  interface Effort { name: string; label: string; hint: string; workflow: string; options: Api.Options; is_effort: boolean }

  type Named = Pick<Api.Session, "id" | "title"> & Partial<Api.Session>;
  type TemporaryRule = "allowed" | "forbidden" | "enforced";
  interface Chat {
    session: Named | null; temporary: TemporaryRule; username: string; assistant: Api.Assistant | null;
    limits: { message_chars: number; file_bytes: number; files: number }; accept: string[]; self_corrective: string;
    workflows: Effort[]; default_workflow: string; has_archive: boolean; sample_documents: Api.Id[]; web_search: { by_default: boolean } | null; budgets: boolean;
  }
  interface SelfCorrective {
    limits: { message_chars: number; top_k: number; rewrites: number }; username: string;
    collections: Api.CollectionName[]; defaults: Api.SelfCorrectiveNumbers; presets: Record<string, number>; force_generate: boolean;
    graph: Graph; node_of_step: Record<string, string>;
  }
  interface Documents {
    username: string; default_collection: string; accept: string[];
    limits: { file_bytes: number; files: number };
  }
  interface OneDocument { id: Api.Id; collection: string; review_months: number }
  interface Desk { username: string; people: string[]; labels: string[]; rights: string[] }
  interface Review extends Desk { filters: Record<string, string> }
  interface ReviewedAnswer extends Desk { answer: Api.ReviewDetail }
}

/** What dom.js and ui.js build from. */
declare namespace Ui {
  type Child = Node | string | number | boolean | null | undefined | Child[];
  interface Attributes {
    onclick?: ((event: PointerEvent & { currentTarget: HTMLElement }) => unknown) | null;
    oncopy?: ((event: ClipboardEvent) => unknown) | null;
    onsubmit?: (event: SubmitEvent & { target: HTMLFormElement }) => unknown;
    onchange?: (event: Event & { target: HTMLInputElement & HTMLSelectElement }) => unknown;
    oninput?: (event: InputEvent & { target: HTMLInputElement }) => unknown;
    onkeydown?: (event: KeyboardEvent) => unknown;
    [name: string]: unknown;
  }
  interface Field {
    name: string; label: string; type?: string; value?: string | number; options?: [string, string][] | null; help?: string;
    optional?: boolean; [attribute: string]: unknown;
  }
  interface MenuItem {
    label?: string; note?: string; heading?: string; back?: boolean; opens?: () => (MenuItem | null)[] | Promise<(MenuItem | null)[]>; icon?: string; hint?: string; problem?: string; href?: string; download?: boolean; danger?: boolean;
    checked?: boolean; radio?: boolean; run?: (event: Event) => unknown;
  }
}

/** What Django's catalogue for scripts leaves. */
declare var django: { gettext(text: string): string; ngettext(one: string, many: string, count: number): string } | undefined;
