// The groups that the user keeps, to share collections with.
import { api } from "../api.js";
import { gettext, ngettext } from "../i18n.js";
import { confirmDialog, errorToast, formDialog, toast } from "../ui.js";
import { splitList } from "./collections.js";

/**
 * What a menu offers: each group, and a new one.
 * @param {Api.KeptGroup[]} groups
 * @param {() => Promise<unknown>} refresh
 * @returns {Ui.MenuItem[]}
 */
export function groupItems(groups, refresh) {
  return [
    ...groups.map((group) => ({ label: ownName(group), icon: "people", hint: ngettext("{count} member", "{count} members", group.members.length), run: () => edit(group, refresh) })),
    { label: gettext("New group"), icon: "plus", run: () => create(refresh) },
    ...groups.map((group) => ({ label: gettext("Delete “{name}”", { name: ownName(group) }), icon: "trash", danger: true, run: () => remove(group, refresh) })),
  ];
}

/** Without its owner's. @param {Api.KeptGroup} group */
const ownName = ({ name }) => name.slice(name.indexOf("/") + 1);

/** @param {Api.KeptGroup | null} group */
function fields(group) {
  return [
    { name: "name", label: gettext("Name"), value: group ? ownName(group) : "", maxlength: 50, required: true },
    { name: "members", label: gettext("Members"), value: group?.members.join(", "), optional: true, help: gettext("Whole user names, separated by commas.") },
  ];
}

/** @param {() => Promise<unknown>} refresh */
function create(refresh) {
  return formDialog(gettext("New group"), fields(null), {
    confirm: gettext("Create"),
    save: async ({ name, members }) => {
      await api.post("/api/groups", { name, members: splitList(members) });
      await refresh();
    },
  });
}

/** @param {Api.KeptGroup} group @param {() => Promise<unknown>} refresh */
function edit(group, refresh) {
  return formDialog(gettext("Edit group"), fields(group), {
    save: async ({ name, members }) => {
      await api.patch(`/api/groups/${group.id}`, { name, members: splitList(members) });
      await refresh();
    },
  });
}

/** @param {Api.KeptGroup} group @param {() => Promise<unknown>} refresh */
async function remove(group, refresh) {
  if (!(await confirmDialog(gettext("Delete “{name}”?", { name: ownName(group) }), gettext("Its members can no longer read what was shared with it.")))) return;
  try {
    await api.delete(`/api/groups/${group.id}`);
    toast(gettext("Group deleted."));
    await refresh();
  } catch (error) {
    errorToast(error);
  }
}
