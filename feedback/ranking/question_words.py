"""Words by which questions are compared: those that mean the same, exclude each other, or say nothing.

The lists are general; words of one site's subjects are not in them. Small letters and Simplified characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

# One meaning a line; a comma separates its wordings. The first stands for all.
_SYNONYMS = """
buy, purchase
begin, start, commence
finish, complete
submit, hand in, handed in, turn in, drop off
repair, fix, mend
delete, erase
fast, quick, rapid
quit, resign, terminate employment
allow, is permitted, are permitted, ok to, okay to
child, children, kid, kids, infant, infants, baby, babies
salary, salaries, wage, wages, paycheck
vacation, annual leave, holiday, holidays
doctor, physician
sick, sickness, ill, illness
cost, price, charge, fee
fine, penalty, penalties
phone, telephone, smartphone, cellphone
author, wrote, writer
reason, cause, causes, why
big, large, size
tall, height, how high
medicine, drug, medication
side effect, side effects, adverse reaction, adverse reactions
drowsy, sleepiness, sleepy, drowsiness
painkiller, pain reliever
mandatory, compulsory, obligatory, required, require, requirement, need, needed, must, have to, has to
employee, employees, staff
colleague, colleagues, coworker, coworkers, co-worker
guest, guests, visitor, visitors
company, firm
often, frequency, interval, intervals, how often
replace, change, exchange, replacement
deadline, due date, by when
address, addresses
overdue, late
return, give back, send back, sending back
change, alter, modify
turn on, switch on, turned on, switched on
turn off, switch off, turned off, switched off
cancel, terminate
request, apply for, applying for, application
apply, application
directory, folder
car, vehicle
parcel, package
oral, orally, verbal, verbally
keep, kept, store, stored, storage
color, colour
autumn, fall semester, fall term
lecture, lectures
dormitory, dorm, student hall, student halls
undergraduate student, undergraduate students, undergraduate, undergraduates, bachelor student, bachelor students
doctoral student, doctoral students, phd student, phd students
last, duration, how long, length
waterproof, water resistant, water resistance
notice period, period of notice
emergency, emergencies
maximum, at most, highest, upper limit
minimum, at least, lowest, lower limit
steps, procedure, way
get, obtain, receive
choose, select, pick
show, display
expense, expenses, costs
reimburse, reimbursed, refund, get back
invention, invented, invent
spare part, replacement part
prior, previous
help, assistance, support
sign, signed
cover, covered, included
file, submit
email, e-mail, mail account
password, passcode
log in, login, sign in
怎么, 如何, 怎样, 怎麽, 咋, 怎么样, 怎么办理, 怎么办, 怎么处理, 处理办法, 解决办法, 怎么解决, 应该怎么, 咋弄
多久, 多长时间, 多长, 期限, 年限, 周期, 几年
什么时候, 何时, 啥时候, 哪天, 哪一天, 几号, 几时, 什么时间, 时间, 截止到什么时候, 最后期限
多少, 几个, 几本, 几天, 几次, 多少天
谁, 哪位, 由谁, 何人
哪里, 哪儿, 何处, 在哪
为什么, 为何, 原因
最多, 上限, 最大, 最高, 不能超过
最少, 下限, 最小, 最低, 至少
修改, 更改, 变更, 改
删除, 清除, 删掉
买, 购买, 购
修理, 维修, 修
吃, 服用, 用药, 服
副作用, 不良反应
犯困, 嗜睡
丢, 遗失, 丢失
补办, 重新办理, 补发
员工, 职工, 职员, 雇员
年假, 带薪年休假, 年休假, 特休, 特别休假
工资, 薪水, 薪资, 月薪
辞职, 离职
申请, 提出申请
密码, 口令, 登录密码
登录, 登入
网络, 网路
挂科, 不及格
本科生, 本科学生, 大学部学生
材料, 文件, 资料
流程, 手续, 步骤
儿童, 小孩, 小孩子, 孩子
合同, 契约
个人所得税, 个税
作者, 写的
更换, 换
支持, 支援, 受支持
共享, 分享
邮箱, 信箱
高度, 多高
房租, 租金
需要, 必须, 要, 需
可以, 能, 可, 允许, 能够, 行不行, 能不能, 可不可以
缴纳, 交, 缴
"""
# One kind of thing a line; members are separated by |, the wordings of a member by a comma. A question about one of
# them is not about another. A line that ends in | goes on in the next.
_ALTERNATIVES = """
full-time, full time, fulltime, full-timer | part-time, part time, parttime, part-timer
undergraduate, bachelor | graduate student, postgraduate, master, master's | doctoral, phd, doctorate
student, pupil | lecturer, teacher, professor, instructor | administrator, admin | manager, supervisor, team leader |
intern, trainee | guest, visitor | pensioner, senior, retiree | electrician | operator | freelancer, contractor
tenant, lessee | landlord, landlady, lessor
buyer, purchaser | seller, vendor
claimant, plaintiff | defendant
father, fathers, paternity | mother, mothers, maternity
child, children, kid, infant, baby, toddler, year old | adult, adults, grown-up | elderly, seniors
husband | wife
married | unmarried, single, divorced | widowed
domestic | international, foreign
pregnancy, pregnant | breastfeeding, breastfeed, nursing mother
liver | kidney | heart | lung | stomach
short-term, short term | long-term, long term
fixed-term | permanent
spring | summer | autumn, fall semester, fall term | winter
january | february | march | april | june | july | august | september | october | november | december
monday | tuesday | wednesday | thursday | friday | saturday | sunday
morning | noon | evening
hourly, per hour | daily, per day, a day | weekly, per week, a week |
monthly, per month, a month | yearly, annually, per year, a year
kilogram, kilograms, kg | litre, litres, liter, liters
megabyte, megabytes, mb | gigabyte, gigabytes, gb
windows | linux | macos, mac os
android | ios, iphone
chrome | firefox | safari
nginx | apache
mysql | postgresql, postgres | sqlite | oracle
red | blue | green | black | white | yellow
left | right
lock, locks, locked | unlock, unlocks, unlocked
enable, enabled, turn on, switch on, activate, lock | disable, disabled, turn off, switch off, deactivate, stop
import | export
upload | download
encrypt | decrypt
install | uninstall
upgrade | downgrade
borrow | lend
deposit | withdraw
increase, raise, raises | lower, lowers, reduce, decrease
too high | too low
oral exam, oral | written exam, written
credit card | debit card | cash
employer | employee
public | private
full refund | partial refund
本科, 本科生, 大学部 | 硕士, 硕士生, 硕士班, 研究生, 研究所 | 博士, 博士生, 博士班
学生 | 教师, 老师, 教职工 | 退休人员
全职, 全日制, 正职, 专职 | 兼职, 非全日制
主管, 经理 | 新人, 新员工 | 实习生
管理员 | 访客, 来宾
成人, 成年人 | 儿童, 小孩, 婴儿, 幼儿 | 老年人, 老人
孕妇, 怀孕 | 哺乳期, 授乳, 哺乳
出租人, 房东 | 承租人, 租客, 房客
买方, 买家 | 卖方, 卖家
原告 | 被告
操作工, 操作员 | 电工 | 维修员, 维修工
产假 | 陪产假 | 病假 | 事假 | 年假 | 婚假 | 丧假
饭前 | 饭后
以前, 之前, 前 | 以后, 之后, 后
东校区 | 西校区 | 南校区 | 北校区
每小时, 时薪 | 每日, 每天, 日薪 | 每周, 每星期 | 每月, 每个月, 月薪 | 每年
启用, 开启, 打开 | 禁用, 停用, 关闭, 关掉
导入 | 导出
上传 | 下载
锁定 | 解锁
新增, 添加 | 删除, 移除
过高, 太高 | 过低, 太低
短期 | 长期
国内 | 国外, 国际
春季 | 夏季 | 秋季 | 冬季
上午 | 下午 | 晚上
肝 | 肾 | 心脏
男 | 女
"""
# What goes before or around a question and asks nothing.
_FILLER = """
please tell know want wonder like find interested explain describe list state hi hello dear thanks thank let ask
question somebody someone anybody one people person moment really quite just again actually currently already now ever
keep asking say supposed going go try trying give wanna gotta would information info available instruction instructions
exactly kind sort thing things type what's whats im ive
请问 请教 请 告诉 想 想问 想知道 想了解 了解 一下 知道 解释 说明 列出 说说 介绍 我 你好 您好 老师 到底 大概 一览 列表
清单 麻烦 方法 办法 情况 到 啊 呢 吧 呀 吗 么 的话 正在 应该 这种 这款 这个 该 此
有没有 有 是 会 给 每位 每个 个 号 位 种
"""
# What is to be done, one action a line. A wording may stand in several lines: two questions are about other actions
# where no line holds a wording of both. Wordings that are mostly no verbs ("search", "order", "change of address") and
# verbs that go with everything ("use", "get") are left out.
_ACTIONS = """
create, add, make, build, set up, generate, creation, 新建, 创建, 建立, 新增, 添加, 生成, 搭建
insert, add, put, load, import, write, upload, insertion, 插入, 写入, 导入, 添加, 加载, 上传
delete, drop, remove, erase, clear, get rid, deletion, removal, 删除, 移除, 清除, 删掉, 清空, 清理
list, show, view, display, check, inspect, describe, 查看, 列出, 显示, 查询, 检查
check, verify, test, validate, verification, 检查, 验证, 校验
kill, stop, terminate, abort, cancel, shut down, quit, 停止, 终止, 关闭, 取消, 杀掉, 停掉, 停用
start, launch, run, boot, begin, 启动, 运行, 开启, 开始, 打开
restart, reboot, 重启, 重新启动
install, deploy, set up, run, provision, installation, deployment, 安装, 部署, 搭建
uninstall, remove, delete, 卸载, 移除, 删除
upgrade, update, bump, 升级, 更新
change, modify, update, edit, alter, set, configure, adjust, replace, swap, exchange, switch, customize, reset,
customise, 修改, 更改, 变更, 更新, 配置, 设置, 设定, 调整, 编辑, 更换, 替换, 重置, 自定义
configure, set up, set, enable, connect, 配置, 设置, 设定, 启用, 开启
rename, change name, 重命名, 改名
export, download, 导出, 下载
back up, backup, copy, save, 备份, 复制, 保存
restore, recover, bring back, 恢复, 还原, 找回, 救回
migrate, move, convert, transfer, migration, switch, import, export, relocate, 迁移, 转换, 转移, 导入, 导出
load, 加载
release, unload, 释放, 卸载
grant, give, assign, 授予, 授权, 分配
revoke, withdraw, take away, 撤销, 收回
connect, join, attach, 连接, 加入
disconnect, leave, detach, 断开, 退出
scale, expand, shrink, grow, increase, reduce, add, remove, 扩容, 缩容, 扩缩容, 增加, 减少
renew, extend, prolong, 续借, 续期, 续签, 延长
return, give back, bring back, hand back, send back, 归还, 退还, 退货
borrow, check out, take out, 借阅
cancel, withdraw, 取消, 撤销
repair, fix, mend, 修理, 维修
"""
MODAL = ("mandatory", "allow", "必须", "需要", "可以")  # first wordings that most questions can do without
_HAN = re.compile(r"[\u3400-\u9fff]")
FILLER: frozenset[str] = frozenset(_FILLER.split())


def _lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


def _one_of(wordings: Mapping[str, object]) -> str:
    """The longest wording that fits at a place; English ones as whole words, with a plural or possessive s."""
    ordered = sorted(wordings, key=lambda wording: (-len(wording), wording))
    latin = "|".join(re.escape(wording) for wording in ordered if not _HAN.search(wording))
    han = "|".join(re.escape(wording) for wording in ordered if _HAN.search(wording))
    return rf"\b({latin})(?:'?s)?\b|({han})"


# A phrase of several words, and every Chinese word, is replaced in the text; a single English word by its stem.
SYNONYM_OF: dict[str, str] = {}
for _line in _lines(_SYNONYMS):
    _first, *_others = _line.split(", ")
    for _wording in (_first, *_others):
        SYNONYM_OF.setdefault(_wording, _first)
# First wordings too, so that no shorter one is found inside them (修 in 修改).
PHRASE_OF = {wording: first for wording, first in SYNONYM_OF.items() if " " in wording or _HAN.search(wording)}
PHRASES = re.compile(_one_of(PHRASE_OF))
# wording → (number of the kind, number of the member)
ALTERNATIVE_OF: dict[str, frozenset[tuple[int, int]]] = {}
for _kind, _line in enumerate(_lines(_ALTERNATIVES.replace("|\n", "| "))):
    for _member, _wordings in enumerate(_line.split(" | ")):
        for _wording in _wordings.split(", "):
            ALTERNATIVE_OF[_wording] = ALTERNATIVE_OF.get(_wording, frozenset()) | {(_kind, _member)}
ALTERNATIVES = re.compile(_one_of(ALTERNATIVE_OF))


def _forms(verb: str) -> Iterator[str]:
    """ "stop" → stop, stops, stopped, stopping. The first word of a phrase is inflected."""
    first, _, rest = verb.partition(" ")
    stem = first[:-1] if first.endswith("e") else first
    doubled = first + first[-1] if re.search(r"[^aeiou][aeiou][bdgmnprt]$", first) else stem
    third = first[:-1] + "ies" if re.search(r"[^aeiou]y$", first) else first + "s"
    past = first[:-1] + "ied" if re.search(r"[^aeiou]y$", first) else stem + "ed"
    for form in (first, third, past, stem + "ing", doubled + "ed", doubled + "ing", first + "es"):
        yield f"{form} {rest}".strip()


# form of a wording → numbers of the actions
ACTIONS_OF: dict[str, frozenset[int]] = {}
for _action, _line in enumerate(_lines(_ACTIONS.replace(",\n", ", "))):
    for _wording in _line.split(", "):
        for _form in (_wording,) if _HAN.search(_wording) else _forms(_wording):
            ACTIONS_OF[_form] = ACTIONS_OF.get(_form, frozenset()) | {_action}
for _form, _verb in {"began": "begin", "ran": "run", "wrote": "write", "made": "make", "built": "build"}.items():
    ACTIONS_OF[_form] = ACTIONS_OF[_verb]
HAN_ACTIONS = re.compile(
    "|".join(sorted(filter(_HAN.search, ACTIONS_OF), key=lambda wording: (-len(wording), wording)))
)
